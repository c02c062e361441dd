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
  const auto put = [&](Axis axis, int extent) {
    std::erase_if(tiles_, [&](const Dim& d) { return d.axis == axis; });
    tiles_.push_back({axis, extent});
  };
  ir::walk(traced.entry, [&](const ir::Op& op) {
    if (!pass || op.code != ir::OpCode::over || op.index < 0) return;
    put(mask_queries(traced, op.loc), pass->queries.tile());
    for (const mask::Source& source : pass->sources) put(op.axis, source.keys.tile());
  });
  for (const Dim& d : tiling.whole) {
    whole_.push_back(d);
    const int unit = contracted(traced, d.axis) ? 16 : 8;
    put(d.axis, (d.extent + unit - 1) / unit * unit);
  }
  for (Axis axis : traced.grid)
    if (!find(tiles_, axis) && !listed(traced, axis)) put(axis, 1);
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
