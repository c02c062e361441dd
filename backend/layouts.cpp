#include <tessera/backend/layouts.h>

#include <algorithm>

#include <tessera/backend/warpgroup.h>
#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

using ir::Axis, ir::Digit, ir::Dim, ir::Layout, ir::Op, ir::OpCode, ir::Type, ir::TypeKind;

namespace {

constexpr int kLanes = 32, kWarps = 4;

int largest_power_of_two(int divides, int at_most) {
  int p = 1;
  while (p * 2 <= at_most && divides % (p * 2) == 0) p *= 2;
  return p;
}

bool free_axis(const Op& dot, const ir::Graph& graph, Axis axis) {
  return !(axis == dot.axis) && graph.type(dot.results[0]).has(axis);
}

// The axis that every dot has free, a grid axis if there is a choice.
Dim row_axis(const ir::Kernel& kernel, const std::vector<const Op*>& dots) {
  std::vector<Dim> candidates = kernel.type(dots[0]->results[0]).dims;
  const auto in_grid = [&](Axis a) {
    for (Axis g : kernel.grid)
      if (g == a) return true;
    return false;
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Dim& a, const Dim& b) { return in_grid(a.axis) > in_grid(b.axis); });
  for (const Dim& d : candidates) {
    bool common = true;
    for (const Op* dot : dots) common = common && free_axis(*dot, kernel, d.axis);
    if (common) return d;
  }
  const Op* odd = dots.back();
  throw UserError(odd->loc,
                  "this dot gives " + to_string(kernel.type(odd->results[0])) + ", which shares no axis with " +
                      to_string(kernel.type(dots[0]->results[0])) + " of another dot in the kernel",
                  "the dots of one kernel must have one result axis in common, whose rows are divided among the warps; "
                  "make it two kernels");
}

}  // namespace

Layout accumulator_layout(Dim row, Dim column) {
  std::vector<Digit> warps{{kWarps, row.axis, 16}};
  if (row.extent > kGroupRows) warps.push_back({row.extent / kGroupRows, row.axis, kGroupRows});
  return Layout({{2, column.axis, 1}, {2, row.axis, 8}, {column.extent / 8, column.axis, 8}},
                {{4, column.axis, 2}, {8, row.axis, 1}}, std::move(warps));
}

Layout blocked_layout(Dim row, Dim column, int warps) {
  const int vector = largest_power_of_two(column.extent, 4);
  const int across = largest_power_of_two(column.extent / vector, kLanes);
  const int down = row.axis ? largest_power_of_two(row.extent, kLanes / across) : 1;
  const int idle = kLanes / across / down;
  const int rows_left = row.axis ? row.extent / down : 1;
  const int columns_left = column.extent / vector / across;
  const int row_warps = largest_power_of_two(rows_left, warps);
  const int column_warps = row_warps == 1 ? largest_power_of_two(columns_left, warps) : 1;

  std::vector<Digit> lanes{{across, column.axis, vector}}, warp;
  if (down > 1) lanes.push_back({down, row.axis, 1});
  if (idle > 1) lanes.push_back({idle, {}, 0});
  if (row_warps > 1) warp.push_back({row_warps, row.axis, down});
  if (column_warps > 1) warp.push_back({column_warps, column.axis, vector * across});
  const int idle_warps = warps / row_warps / column_warps;
  if (idle_warps > 1) warp.push_back({idle_warps, {}, 0});

  std::vector<Digit> registers{{vector, column.axis, 1}};
  if (columns_left / column_warps > 1)
    registers.push_back({columns_left / column_warps, column.axis, vector * across * column_warps});
  if (rows_left / row_warps > 1) registers.push_back({rows_left / row_warps, row.axis, down * row_warps});
  return Layout(std::move(registers), std::move(lanes), std::move(warp));
}

LayoutRule::LayoutRule(const ir::Kernel& kernel) {
  std::vector<const Op*> dots;
  std::vector<Dim> widest;
  ir::walk(kernel.entry, [&](const Op& op) {
    if (op.code == OpCode::dot) dots.push_back(&op);
    for (ir::Value v : op.results) {
      const Type& type = kernel.type(v);
      if (type.kind == TypeKind::tile && type.dims.size() > widest.size()) widest = type.dims;
    }
  });
  has_products_ = !dots.empty();
  if (has_products_) {
    row_ = row_axis(kernel, dots);
    if (row_.extent % kGroupRows != 0)
      throw UserError(dots[0]->loc,
                      "axis " + row_.axis.name() + " has a tile of " + std::to_string(row_.extent) + " rows",
                      "matrix products take rows in multiples of 64: choose a tile of 64, 128 or 192");
    return;
  }
  if (!widest.empty()) column_ = widest.back();
  if (widest.size() > 1) row_ = widest[widest.size() - 2];
}

Layout LayoutRule::layout_of(const std::vector<Dim>& dims, SourceLoc loc) const {
  Dim row = row_, column = column_;
  bool with_row = false, with_column = false;
  for (const Dim& d : dims) {
    if (row.axis && d.axis == row.axis) {
      with_row = true;
    } else if (has_products_ ? !with_column : d.axis == column.axis) {
      with_column = true;
      column = d;
    } else {
      throw UserError(loc, "a tile " + to_string(Type::tile(DType::f32, dims)) + " cannot be held in registers here",
                      row.axis ? "tiles of this kernel have axis " + row.axis.name() + " and at most one other"
                               : "tiles of a kernel without dot have the axes of its widest tile");
    }
  }
  if (has_products_) {
    if (!with_column) column = {Axis::named("(none)"), 8};  // only the row part of it remains after slicing
    if (column.extent % 8 != 0)
      throw UserError(loc, "axis " + column.axis.name() + " has a tile of " + std::to_string(column.extent),
                      "beside a matrix product tiles are a multiple of 8 wide");
    const Layout full = accumulator_layout(row, column);
    return with_row ? (with_column ? full : full.slice(column.axis)) : full.slice(row.axis);
  }
  Layout full = blocked_layout(row, column, kWarps);
  if (row.axis && !with_row) full = full.slice(row.axis);
  return with_column ? full : full.slice(column.axis);
}

Type LayoutRule::place(const Type& type, SourceLoc loc) const {
  if (type.kind != TypeKind::tile || type.dims.empty()) return type;
  Type placed = type;
  placed.layout = std::make_shared<const Layout>(layout_of(type.dims, loc));
  return placed;
}

}  // namespace tessera::backend
