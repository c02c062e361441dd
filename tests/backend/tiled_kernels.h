// Tiled kernels built by hand, for tests of what comes after tiling.
#pragma once

#include <tessera/dsl/ir/builder.h>

namespace tessera::test {

struct AttentionShape {
  int query_tile = 128, key_tile = 64, head_dim = 64, value_dim = 64;
};

// c[Row, Column] = a[Row, Inner] b[Inner, Column]; tiles of 128 x 64, 64 at a time along Inner.
ir::Kernel tiled_matmul();

// Attention over all keys; the last tile masks what lies beyond the key length.
ir::Kernel tiled_attention(AttentionShape shape = {});

// Two tiles of the same tensor are needed at once: y = q (k_even + k_odd)^T, loaded before either is multiplied.
ir::Kernel tiled_pairs();

// c = a b, where the step along Inner is taken if a tile (any gate > 0) or a scalar says so.
ir::Kernel tiled_branch(bool on_tiles);

// y = x * 2 + row maximum of x, without products: tiles of 16 x 64.
ir::Kernel tiled_rows();

}  // namespace tessera::test
