#include <tessera/backend/emit/placement.h>

#include <algorithm>

namespace tessera::backend {

using ir::Layout;
using ir::Part;
using ir::Type;

namespace {

bool part_agrees(const Layout& a, const Layout& b, ir::Axis axis, Part part) {
  const int size = std::max(a.size(part), b.size(part));
  if (a.size(part) != b.size(part)) return false;
  for (int i = 0; i < size; ++i)
    if (a.part_at(axis, part, i) != b.part_at(axis, part, i)) return false;
  return true;
}

}  // namespace

int registers_of(const Type& type) { return type.is_scalar() ? 1 : type.layout->size(Part::reg); }

bool same_threads(const Type& whole, const Type& part) {
  if (part.is_scalar()) return true;
  for (const ir::Dim& dim : part.dims)
    for (Part p : {Part::lane, Part::warp})
      if (!part_agrees(*whole.layout, *part.layout, dim.axis, p)) return false;
  return true;
}

std::vector<int> register_map(const Type& result, const Type& operand) {
  std::vector<int> map(static_cast<std::size_t>(registers_of(result)), 0);
  if (operand.is_scalar()) return map;
  const auto refuse = [&](const char* why) {
    return InternalError(std::string(why) + ": " + to_string(operand) + " " + to_string(*operand.layout) +
                         " used for " + to_string(result) + " " + to_string(*result.layout));
  };
  if (!same_threads(result, operand)) throw refuse("an operand's elements are in other threads than the result's");
  std::vector<ir::Coordinate> at(operand.dims.size());
  for (std::size_t r = 0; r < map.size(); ++r) {
    for (std::size_t d = 0; d < at.size(); ++d)
      at[d] = {operand.dims[d].axis, result.layout->part_at(operand.dims[d].axis, Part::reg, static_cast<int>(r))};
    map[r] = operand.layout->register_of(at);
    if (map[r] < 0) throw refuse("an operand lacks a register of the result");
  }
  return map;
}

int thread_part_max(const Layout& layout, ir::Axis axis) {
  int most = 0;
  for (Part part : {Part::lane, Part::warp})
    for (const ir::Digit& d : layout.digits(part))
      if (d.axis == axis) most += (d.size - 1) * d.step;
  return most;
}

int thread_part_alignment(const Layout& layout, ir::Axis axis) {
  int alignment = 16;
  for (Part part : {Part::lane, Part::warp})
    for (const ir::Digit& d : layout.digits(part))
      while (d.axis == axis && d.size > 1 && d.step % alignment != 0) alignment /= 2;
  return alignment;
}

Layout product_layout(ir::Axis rows, ir::Axis columns, int n) {
  return Layout({{2, columns, 1}, {2, rows, 8}, {n / 8, columns, 8}}, {{4, columns, 2}, {8, rows, 1}}, {{4, rows, 16}});
}

bool same_places(const Type& type, const Layout& a, const Layout& b) {
  return std::all_of(type.dims.begin(), type.dims.end(), [&](const ir::Dim& dim) {
    return part_agrees(a, b, dim.axis, Part::reg) && part_agrees(a, b, dim.axis, Part::lane) &&
           part_agrees(a, b, dim.axis, Part::warp);
  });
}

}  // namespace tessera::backend
