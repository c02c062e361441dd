// Tiled kernels built by hand, for tests of what comes after tiling.
#pragma once

#include <tessera/dsl/ir/builder.h>

namespace tessera::test {

struct AttentionShape {
  int query_tile = 128, key_tile = 64, head_dim = 64, value_dim = 64;
  int partial_tiles = 1;  // the most that the loop with a predicate takes: what is left of so many full ones
  bool documents =
      false;  // its predicate also asks a sixth parameter, a table, whether query and key are of one document
};

// c[Row, Column] = a[Row, Inner] b[Inner, Column]; tiles of 128 x 64, 64 at a time along Inner.
ir::Kernel tiled_matmul();

// Attention over all keys, in the last tiles perhaps only over those of the query's document. First those tiles, with a
// predicate on each element, then all others.
ir::Kernel tiled_attention(AttentionShape shape = {});

// Two tiles of the same tensor are needed at once: y = q (k_even + k_odd)^T, loaded before either is multiplied.
ir::Kernel tiled_pairs();

// c = a b, where the step along Inner is taken if a tile (any gate > 0) or a scalar says so.
ir::Kernel tiled_branch(bool on_tiles);

// y = x * 2 + row maximum of x, without products: tiles of 16 x 64.
ir::Kernel tiled_rows();

}  // namespace tessera::test
