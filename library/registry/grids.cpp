#include <fmt/format.h>

#include <tessera/library/registry/rows.h>

namespace tessera::registry {

using Values = PatternValues;

namespace {

const PatternParameter kGrid{"grid", "", "tokens of each axis, outermost first, as 30,48,80"};

using Extents = std::vector<std::int64_t>;

// A value for each axis of the grid; a single one stands for all.
Extents per_axis(const Values& v, const std::string& name, const Extents& grid) {
  const Extents values = v.integers(name);
  if (values.size() == 1) return Extents(grid.size(), values[0]);
  if (values.size() != grid.size()) {
    throw UserError({}, fmt::format("--{} has {} values, and --grid {}", name, values.size(), grid.size()),
                    "give one for each axis, or a single one for all");
  }
  return values;
}

Mask make_neighborhood(const Values& v) {
  const Extents grid = v.integers("grid");
  const Extents window = per_axis(v, "window", grid), stride = per_axis(v, "stride", grid),
                dilation = per_axis(v, "dilation", grid), causal = per_axis(v, "causal-axes", grid);
  std::vector<NeighborhoodAxis> axes;
  for (std::size_t i = 0; i < grid.size(); ++i)
    axes.push_back({grid[i], window[i], stride[i], dilation[i], causal[i] != 0});
  return neighborhood(axes, v.integer("extra-keys"), kNowhere);
}

Mask make_swin(const Values& v) {
  const Extents grid = v.integers("grid");
  return swin(grid, per_axis(v, "window", grid), per_axis(v, "shift", grid), kNowhere);
}

Mask make_halo(const Values& v) {
  const Extents grid = v.integers("grid");
  return halo(grid, per_axis(v, "block", grid), per_axis(v, "halo", grid), kNowhere);
}

Mask make_axial(const Values& v) {
  const Extents grid = v.integers("grid");
  const std::vector<int> axes = v.small_integers("axes");
  return axes.size() == 1 && axes[0] == -1 ? axial(grid, kNowhere) : along(grid, axes, kNowhere);
}

}  // namespace

std::vector<Pattern> grid_patterns() {
  return {
      {"neighborhood",
       "keys around the query in a grid",
       {kGrid,
        {"window", "", "keys of each axis"},
        {"stride", "1", "queries of each axis that share a window"},
        {"dilation", "1", "tokens from key to key"},
        {"causal-axes", "0", "1 for each axis that is causal, else 0"},
        {"extra-keys", "0", "keys behind the grid's that every query sees"}},
       make_neighborhood},
      {"swin",
       "keys of the query's own window in a grid",
       {kGrid,
        {"window", "7", "tokens of a window along each axis"},
        {"shift", "0", "tokens that windows are shifted by: 3 in every second layer"}},
       make_swin},
      {"halo",
       "keys of the query's own block in a grid, and around it",
       {kGrid, {"block", "8", "tokens of a block along each axis"}, {"halo", "3", "tokens around it along each axis"}},
       make_halo},
      {"axial",
       "keys that are elsewhere along one axis only",
       {kGrid, {"axes", "-1", "the axes, as 0 or 1,2; -1: any one of them"}},
       make_axial},
      {"spatial",
       "keys of the query's own frame",
       {kGrid},
       [](const Values& v) { return along(v.integers("grid"), {1, 2}, kNowhere); }},
      {"temporal",
       "keys at the query's own place in all frames",
       {kGrid},
       [](const Values& v) { return along(v.integers("grid"), {0}, kNowhere); }},
      {"sliding-tiles",
       "tiles of a grid around the query's own",
       {kGrid,
        {"tile", "", "tokens of a tile along each axis"},
        {"window", "", "tiles along each axis"},
        {"text", "0", "tokens of text, which see and are seen by all"},
        {"text-first", "false", "the text stands before the grid"}},
       [](const Values& v) {
         const Extents grid = v.integers("grid");
         return sliding_tiles(grid, per_axis(v, "tile", grid), per_axis(v, "window", grid),
                              {v.integer("text"), v.flag("text-first")}, kNowhere);
       }},
  };
}

}  // namespace tessera::registry
