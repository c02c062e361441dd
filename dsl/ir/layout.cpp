#include <tessera/dsl/ir/layout.h>

#include <algorithm>

#include <fmt/format.h>

namespace tessera::ir {

namespace {
constexpr const char* kParts[] = {"reg", "lane", "warp"};
constexpr Part kAllParts[] = {Part::reg, Part::lane, Part::warp};

// A digit of size 1 contributes nothing; without it, equal maps have equal digits.
std::vector<Digit> without_units(std::vector<Digit> digits) {
  std::erase_if(digits, [](const Digit& d) { return d.size == 1; });
  for (Digit& d : digits) {
    ensure(d.size > 1, "a digit of a layout has a size below 1");
    if (!d.axis) d.step = 0;
  }
  return digits;
}
}  // namespace

Layout::Layout(std::vector<Digit> registers, std::vector<Digit> lanes, std::vector<Digit> warps)
    : digits_{without_units(std::move(registers)), without_units(std::move(lanes)), without_units(std::move(warps))} {}

int Layout::size(Part part) const {
  int n = 1;
  for (const Digit& d : digits(part)) n *= d.size;
  return n;
}

int Layout::part_at(Axis axis, Part part, int index) const {
  int sum = 0;
  for (const Digit& d : digits(part)) {
    if (d.axis && d.axis == axis) sum += index % d.size * d.step;
    index /= d.size;
  }
  return sum;
}

int Layout::at(Axis axis, int reg, int lane, int warp) const {
  return part_at(axis, Part::reg, reg) + part_at(axis, Part::lane, lane) + part_at(axis, Part::warp, warp);
}

bool Layout::replicates(Part part) const {
  const std::vector<Digit>& d = digits(part);
  return std::any_of(d.begin(), d.end(), [](const Digit& digit) { return !digit.axis; });
}

Layout Layout::slice(Axis axis) const {
  auto parts = digits_;
  std::erase_if(parts[0], [&](const Digit& d) { return d.axis == axis; });
  for (int part : {1, 2}) {
    for (Digit& d : parts[part]) {
      if (d.axis == axis) d = {.size = d.size, .axis = {}, .step = 0};
    }
  }
  return Layout(std::move(parts[0]), std::move(parts[1]), std::move(parts[2]));
}

int Layout::register_of(const std::vector<Coordinate>& coordinates) const {
  for (int reg = 0, n = size(Part::reg); reg < n; ++reg) {
    auto holds = [&](const Coordinate& c) { return part_at(c.axis, Part::reg, reg) == c.at; };
    if (std::all_of(coordinates.begin(), coordinates.end(), holds)) return reg;
  }
  return -1;
}

std::string to_string(const Layout& layout) {
  std::string text = "{";
  for (Part part : kAllParts) {
    if (part != Part::reg) text += " | ";
    text += kParts[static_cast<int>(part)];
    for (const Digit& d : layout.digits(part)) {
      text += d.axis ? fmt::format(" {}*{}:{}", d.size, d.axis.name(), d.step) : fmt::format(" {}", d.size);
    }
  }
  return text + "}";
}

}  // namespace tessera::ir
