// Binds every axis to a tile extent and turns `over` into loops over the tiles its plan visits.
//
//   before (traced)                                   after (tiled), causal, 128 x 128, closed form
//   %m = over Key mask @0 (%m = %0) {                 %begin, %full_begin, %full_end, %end = (scalar arithmetic)
//     ^(%t: tile Key)                                 %m = loop 0 to %partials (%m = %0) { ^(%i)
//     %1 = load k(%t) : bf16[Key, Depth]                %j = select (lt %i, ...) ...       // which partial tile
//     %2 = dot Depth %q, %1 : f32[Query, Key]           %1 = load k(mul %j, 128; 0) : bf16[Key:128, Depth:64]
//     %3 = allowed %t                                   ...
//     %4 = select %3, %2, -inf                          %4 = select (le %kpos, %qpos), %2, -inf
//     ...                                             }
//   }                                                 %m = loop %full_begin to %full_end (%m = %m) { ... no select ...
//   }
//
// Full tiles lose the predicate: `allowed` becomes true there and simplify removes what follows from it. In partial
// tiles it is the predicate and the bounds (k < key length), on i32 tiles of token positions. Score functions (`apply`)
// are inlined in both. A reduction or contraction over an axis whose tile may reach past the axis's end gets the
// identity there, unless the value is known to be neutral already (ir: -inf under max, 0 under sum).
// Bounded keys: loads in partial tiles carry the bound; full tiles lie within it and load as if there were none.
// Token orders (ir/order.h): a tile is a handle, made of the first value of each digit, which loads, stores and
// positions take in place of a start. A query tile's are digits of the program's index; key tiles of a box, or of
// several, are walked by one loop, whose index they are digits of; a list's entries are numbers of tiles. What a mask
// asks of positions is asked of their digits where it can be. Places that are no token are masked in partial tiles;
// those that pad a tile up to the rows that products take, in full ones too. Sources of a pass follow each other, each
// with its own order, tile and share of the predicate, and carry one state. An `over` without a mask is one loop, or
// whole tiles apart from the last where that one needs a guard. Parameters: the kernel's own, then those of
// functions[0], functions[1], ... (renamed where a name is taken: doc_2), then the list's. Runs after simplify(traced);
// simplify runs again after it.
#pragma once

#include <tessera/dsl/ir/ir.h>
#include <tessera/dsl/mask/plan.h>

namespace tessera::passes {

// Extents of the axes no plan speaks of: grid axes of programs without masks, looped axes, and whole axes (their true
// extent; the tile is it rounded up to a multiple of 16 if a dot contracts it, of 8 otherwise).
struct Tiling {
  std::vector<ir::Dim> tiles;
  std::vector<ir::Dim> whole;
};

// The names of the tables that each list of a plan adds to the kernel's parameters, in this order.
inline constexpr const char* kListTables[] = {"tile_rows", "tile_ids", "tile_class"};  // the last only with classes

// `plan` may be null for kernels without masks; others: mask::check_supported. Throws UserError when an axis has no
// extent.
ir::Kernel tile_by_mask(const ir::Kernel& traced, const mask::Plan* plan, const Tiling& tiling);

}  // namespace tessera::passes
