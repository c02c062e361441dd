// Masks that skip keys at regular distances.
#pragma once

#include <vector>

#include <tessera/dsl/lang/mask.h>
#include <tessera/library/patterns/align.h>

namespace tessera {

// Longformer's dilated window: every `dilation`-th key, up to `width` of them on either side of the query's own place,
// which is one too: 2 * width + 1 keys. With a dilation for each head, or one for all.
TESSERA_API Mask dilated_window(int width, int dilation, Align align = Align::bottom_right,
                                SourceLoc loc = SourceLoc::here());
TESSERA_API Mask dilated_window(int width, const std::vector<int>& dilation_of_head, Align align = Align::bottom_right,
                                SourceLoc loc = SourceLoc::here());

// Keys a multiple of `stride` away from the query's own place, before and after.
TESSERA_API Mask strided(int stride, Align align = Align::bottom_right, SourceLoc loc = SourceLoc::here());

// Within the query's own block, every `stride`-th query sees every `stride`-th key, counted from `offset`. Other
// queries see nothing.
struct StridedBlocks {
  int block = 256;
  int stride = 4;
  int offset = 0;
};
TESSERA_API Mask strided_blocks(const StridedBlocks& options, Align align = Align::bottom_right,
                                SourceLoc loc = SourceLoc::here());

enum class SparseTransformer : std::uint8_t {
  both,    // the union, in one head
  local,   // the keys nearby, and
  column,  // the keys further away: for two heads or layers, as in the release
};

// Sparse Transformer, strided: causal; the `stride` last keys, the query's own among them, and every key a multiple of
// `stride` before it.
TESSERA_API Mask sparse_strided(int stride, SparseTransformer part = SparseTransformer::both,
                                Align align = Align::bottom_right, SourceLoc loc = SourceLoc::here());

// Sparse Transformer, fixed: causal; the query's own block of `block` keys, and `columns` keys of every block: its last
// ones, or with several `groups` those before them, where the heads take turns.
struct SparseFixed {
  int block = 128;
  int columns = 8;
  int groups = 1;
};
TESSERA_API Mask sparse_fixed(const SparseFixed& options, SparseTransformer part = SparseTransformer::both,
                              Align align = Align::bottom_right, SourceLoc loc = SourceLoc::here());

// LogSparse: causal; keys whose distance is a power of two, the `local` last ones (the query's own is always one), and
// with a `restart` the same again from every `restart` keys on. For up to `tokens` of each.
struct LogSparse {
  int local = 1;
  int restart = 0;  // 0: none
};
TESSERA_API Mask log_sparse(int tokens, const LogSparse& options, Align align = Align::bottom_right,
                            SourceLoc loc = SourceLoc::here());

// One branch of LongNet: within segments, every `dilation`-th query sees every `dilation`-th key. Heads begin at
// different places: groups of heads, or heads in turn. Branches are attention calls of their own, whose results `merge`
// puts together; a key that several branches see then counts as often.
struct LongNet {
  int segment = 2048;
  int dilation = 1;
  int heads = 1;               // query heads
  bool heads_in_turn = false;  // head h begins at h % dilation; else at h / ceil(heads / dilation)
  bool causal = false;
};
TESSERA_API Mask longnet(const LongNet& options, SourceLoc loc = SourceLoc::here());

}  // namespace tessera
