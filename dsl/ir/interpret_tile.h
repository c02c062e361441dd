// Reductions and contractions of tiles.
#pragma once

#include <tessera/dsl/ir/interpret_value.h>

namespace tessera::ir::interp {

// `a` without `axis`. Sums of 16-bit elements are made in f32 and rounded once.
Tile reduce(OpCode code, const Tile& a, Axis axis);
Tile partial_sum(const Tile& a, Axis axis, const std::vector<Dim>& dims);  // to a tile of `dims`

// f32: the sum over `axis`, in its order, of a times b, plus `c` where given. Dims: those of a, then those of b.
Tile dot(const Tile& a, const Tile& b, Axis axis, const Tile* c);

}  // namespace tessera::ir::interp
