// Which kernel parameters a placed kernel needs, and in which order.
//
// A launch passes exactly the slots of the artifact, so this list is both the LLVM function's signature and the recipe
// that a launch follows. Per tensor: maps, pointer, strides, extents, groups; then lengths, then scalars. Slots nothing
// reads are not in the list.
#pragma once

#include <vector>

#include <tessera/backend/artifact.h>

namespace tessera::backend {

// The grid axes along which `param` is read at the program's own index without listing them, in the grid's order
// (innermost first): Head, Batch. A tiled grid axis is one that some tensor lists; it is nobody's implicit axis.
std::vector<ir::Axis> implicit_axes(const ir::Kernel& kernel, const ir::Param& param);

// Position of a listed axis, or of an implicit one, in the completed shape [implicit, outermost first] + [listed].
int dim_of_listed(const ir::Kernel& kernel, const ir::Param& param, int listed);
int dim_of_implicit(const ir::Kernel& kernel, const ir::Param& param, int implicit);

// The parameter axis of a copied tile that is cut in a token order is the first of its two. Slots of its maps: of the
// digits, without the incomplete value, and of single rows.
Slot ordered_map_slot(const ir::AxisOrder& cut, int param, bool complete);
Slot multiple_slot(const ir::AxisOrder& cut, int param, int part);
Slot row_map_slot(int param);

// Rows of the box that a copy into a tile of `rows` rows is made of: all of them, or the largest part of at most 256
// (the hardware's limit) that divides them.
int box_rows(int rows);

std::vector<Slot> collect_slots(const ir::Kernel& kernel);

}  // namespace tessera::backend
