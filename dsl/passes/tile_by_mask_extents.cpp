#include <algorithm>

#include <fmt/format.h>

#include <tessera/dsl/passes/tile_by_mask_internal.h>

namespace tessera::passes::detail {

using ir::Axis;
using ir::Dim;

namespace {

const Dim* find(const std::vector<Dim>& dims, Axis axis) {
  const auto it = std::find_if(dims.begin(), dims.end(), [&](const Dim& d) { return d.axis == axis; });
  return it == dims.end() ? nullptr : &*it;
}

int round_up(int n, int unit) { return (n + unit - 1) / unit * unit; }

bool contracted(const ir::Kernel& kernel, Axis axis) {
  bool found = false;
  ir::walk(kernel.entry, [&](const ir::Op& op) { found |= op.code == ir::OpCode::dot && op.axis == axis; });
  return found;
}

bool listed(const ir::Kernel& kernel, Axis axis) {
  return std::any_of(kernel.params.begin(), kernel.params.end(),
                     [&](const ir::Param& p) { return std::find(p.axes.begin(), p.axes.end(), axis) != p.axes.end(); });
}

}  // namespace

Axis mask_queries(const ir::Kernel& traced, SourceLoc loc) {
  if (const Axis query = ir::query_axis(traced)) return query;
  throw UserError(loc, fmt::format("kernel '{}' loops over a mask and has no query axis on its grid", traced.name),
                  "put Query on the grid, or loop without a mask");
}

Extents::Extents(const ir::Kernel& traced, const mask::Pass* pass, const Tiling& tiling)
    : kernel_(traced), tiles_(tiling.tiles) {
  ir::walk(traced.entry, [&](const ir::Op& op) {
    if (!pass || op.code != ir::OpCode::over || op.index < 0) return;
    const Axis query = mask_queries(traced, op.loc);
    set_tile(query, rows(query, pass->queries));
    set_tile(op.axis, rows(op.axis, pass->sources.at(0).keys));
  });
  for (const Dim& d : tiling.whole) {
    whole_.push_back(d);
    set_tile(d.axis, round_up(d.extent, contracted(traced, d.axis) ? 16 : 8));
  }
  for (Axis axis : traced.grid)
    if (!find(tiles_, axis) && !listed(traced, axis)) set_tile(axis, 1);
}

// Products have rows in multiples of 64 and contract multiples of 16.
int Extents::rows(Axis axis, const ir::Order& order) const {
  const int tokens = order.tile();
  if (order.is_identity()) return tokens;
  bool products = false;
  ir::walk(kernel_.entry, [&](const ir::Op& op) { products |= op.code == ir::OpCode::dot; });
  return round_up(tokens, !products ? 8 : contracted(kernel_, axis) ? 16 : 64);
}

void Extents::set_tile(Axis axis, int extent) {
  std::erase_if(tiles_, [&](const Dim& d) { return d.axis == axis; });
  tiles_.push_back({axis, extent});
}

int Extents::tile(Axis axis) const {
  const Dim* d = find(tiles_, axis);
  if (!d || d->extent <= 0)
    throw UserError(
        {}, fmt::format("kernel '{}' has no tile extent for axis {}", kernel_.name, axis.name()),
        "give one in the tiling: `tiles` for axes that are walked in tiles, `whole` for those that are not");
  return d->extent;
}

bool Extents::is_grid(Axis axis) const {
  return std::find(kernel_.grid.begin(), kernel_.grid.end(), axis) != kernel_.grid.end();
}

ir::Type Extents::bind(ir::Type type) const {
  for (Dim& d : type.dims) d.extent = tile(d.axis);
  return type;
}

std::vector<Dim> Extents::grid_tiles() const {
  std::vector<Dim> dims;
  for (Axis axis : kernel_.grid) dims.push_back({axis, tile(axis)});
  return dims;
}

}  // namespace tessera::passes::detail
