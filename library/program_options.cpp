#include <tessera/library/program_options.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tessera/dsl/ir/rewrite.h>

namespace tessera::library {

namespace {

using ir::Axis;

constexpr int kLargestTile = 4096, kLongestWhole = 65536;

bool contains(const std::vector<Axis>& axes, Axis axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}
const ir::Dim* find(const std::vector<ir::Dim>& dims, Axis axis) {
  auto found = std::find_if(dims.begin(), dims.end(), [&](const ir::Dim& d) { return d.axis == axis; });
  return found == dims.end() ? nullptr : &*found;
}

// How a kernel goes along its axes, each in the order in which it comes up.
struct AxisUses {
  std::vector<Axis> all, listed, looped, masked;

  explicit AxisUses(const ir::Kernel& kernel) : grid_(kernel.grid) {
    const auto add = [](std::vector<Axis>& axes, Axis axis) {
      if (!contains(axes, axis)) axes.push_back(axis);
    };
    for (Axis axis : kernel.grid) add(all, axis);
    ir::walk(kernel.entry, [&](const ir::Op& op) {
      if (op.code != ir::OpCode::over) return;
      add(looped, op.axis);
      add(all, op.axis);
      if (op.index < 0) return;
      add(masked, op.axis);
      if (const Axis query = ir::query_axis(kernel)) add(masked, query);
    });
    for (const ir::Param& param : kernel.params) {
      for (Axis axis : param.axes) add(listed, axis), add(all, axis);
    }
    ir::walk(kernel.entry, [&](const ir::Op& op) {
      for (ir::Value result : op.results) {
        for (const ir::Dim& dim : kernel.type(result).dims) add(all, dim.axis);
      }
    });
  }

  bool steps(Axis axis) const { return contains(grid_, axis) && !contains(listed, axis) && !contains(looped, axis); }
  bool walks(Axis axis) const { return contains(looped, axis) || (contains(grid_, axis) && contains(listed, axis)); }

 private:
  const std::vector<Axis>& grid_;
};

class Check {
 public:
  Check(const ir::Kernel& kernel, SourceLoc loc) : kernel_(kernel), uses_(kernel), loc_(loc) {}

  void tile(const AxisTile& given) {
    const Axis axis = known(given.axis);
    if (uses_.steps(axis)) {
      refuse(fmt::format("axis {} of kernel '{}' is in no tensor's list of axes, and a tile of {} is given", given.axis,
                         kernel_.name, given.extent),
             "programs step along it by one: leave it out");
    }
    if (!uses_.walks(axis)) {
      refuse(fmt::format("axis {} of kernel '{}' is neither on its grid nor looped over, and a tile of {} is given",
                         given.axis, kernel_.name, given.extent),
             fmt::format("a tile has all of it: give its length, .whole = {{{{\"{}\", n}}}}", given.axis));
    }
    if (given.extent < 1 || given.extent > kLargestTile) {
      refuse(fmt::format("the tile of {} is {}", given.axis, given.extent),
             fmt::format("give 1 to {} elements; sm_90a takes multiples of 64 for the rows of matrix products, of 16 "
                         "for what they contract, of 8 for their columns",
                         kLargestTile));
    }
    tiles.tiling.tiles.push_back({axis, given.extent});
  }

  void whole(const AxisTile& given) {
    const Axis axis = known(given.axis);
    if (uses_.steps(axis) || uses_.walks(axis)) {
      refuse(fmt::format("axis {} of kernel '{}' is {}, and its length is given", given.axis, kernel_.name,
                         uses_.steps(axis) ? "stepped along by one" : "walked in tiles"),
             uses_.steps(axis)
                 ? std::string("the call says how long it is: leave it out")
                 : fmt::format("the call says how long it is: give .tiles = {{{{\"{}\", n}}}}", given.axis));
    }
    if (given.extent < 1 || given.extent > kLongestWhole) {
      refuse(fmt::format("the length of {} is {}", given.axis, given.extent),
             fmt::format("give 1 to {} elements, or loop over {}", kLongestWhole, given.axis));
    }
    tiles.tiling.whole.push_back({axis, given.extent});
  }

  void missing() {
    for (Axis axis : uses_.all) {
      if (uses_.steps(axis) || find(tiles.tiling.tiles, axis) || find(tiles.tiling.whole, axis)) continue;
      if (!uses_.walks(axis)) {
        refuse(fmt::format("kernel '{}' has all of axis {} in a tile, and its length is not given", kernel_.name,
                           axis.name()),
               fmt::format("give .whole = {{{{\"{}\", n}}}}", axis.name()));
      }
      if (!contains(uses_.masked, axis)) {
        refuse(fmt::format("kernel '{}' walks axis {} in tiles, and no tile is given", kernel_.name, axis.name()),
               fmt::format("give .tiles = {{{{\"{}\", n}}}}", axis.name()));
      }
      tiles.tiling.tiles.push_back({axis, kDefaultTile});
      tiles.defaulted.push_back(axis);
    }
  }

  ProgramTiles tiles;

 private:
  [[noreturn]] void refuse(const std::string& cause, const std::string& remedy) const {
    throw UserError(loc_, cause, remedy);
  }

  Axis known(const std::string& name) const {
    const Axis axis = Axis::named(name);
    if (!contains(uses_.all, axis)) {
      std::vector<std::string> names;
      for (Axis a : uses_.all) names.push_back(a.name());
      refuse(fmt::format("kernel '{}' has no axis '{}'", kernel_.name, name),
             fmt::format("its axes are {}", fmt::join(names, ", ")));
    }
    if (find(tiles.tiling.tiles, axis) || find(tiles.tiling.whole, axis)) {
      refuse(fmt::format("axis {} is given twice", name), "give each axis once, in tiles or in whole");
    }
    return axis;
  }

  const ir::Kernel& kernel_;
  AxisUses uses_;
  SourceLoc loc_;
};

}  // namespace

int ProgramTiles::tile(const char* axis) const {
  const ir::Dim* dim = find(tiling.tiles, Axis::named(axis));
  return dim ? dim->extent : kDefaultTile;
}

ProgramTiles check_tiles(const ir::Kernel& traced, const ProgramOptions& options, SourceLoc loc) {
  Check check(traced, loc);
  for (const AxisTile& given : options.tiles) check.tile(given);
  for (const AxisTile& given : options.whole) check.whole(given);
  check.missing();
  return std::move(check.tiles);
}

std::string to_text(const ProgramTiles& tiles) {
  std::vector<std::string> walked, whole;
  for (const ir::Dim& d : tiles.tiling.tiles) {
    walked.push_back(
        fmt::format("{} {}{}", d.axis.name(), d.extent, contains(tiles.defaulted, d.axis) ? " (default)" : ""));
  }
  for (const ir::Dim& d : tiles.tiling.whole) whole.push_back(fmt::format("{} {}", d.axis.name(), d.extent));
  std::string text = fmt::format("{}", fmt::join(walked, ", "));
  if (!whole.empty()) text += fmt::format("{}whole {}", text.empty() ? "" : "; ", fmt::join(whole, ", "));
  return text;
}

}  // namespace tessera::library
