// Masks of blocks of consecutive tokens.
#pragma once

#include <cstdint>
#include <vector>

#include <tessera/dsl/lang/mask.h>
#include <tessera/library/patterns/align.h>

namespace tessera {

// Keys of the query's own block of `size` tokens: chunked attention.
TESSERA_API Mask block_diagonal(int size, Align align = Align::bottom_right, SourceLoc loc = SourceLoc::here());
// The same where sequence b begins with left_padding[b] tokens that its blocks do not count.
TESSERA_API Mask block_diagonal(int size, const std::vector<int>& left_padding, Align align = Align::bottom_right,
                                SourceLoc loc = SourceLoc::here());

// Keys of the query's own block and the `previous` blocks before it.
TESSERA_API Mask blocked(int size, int previous = 1, Align align = Align::bottom_right,
                         SourceLoc loc = SourceLoc::here());

// Keys of the query's own block and all before it: causal from block to block, full within one.
TESSERA_API Mask block_causal(int size, Align align = Align::bottom_right, SourceLoc loc = SourceLoc::here());

// Training of block diffusion: `length` noisy tokens, then the same tokens clean, both in blocks of `size`. A noisy
// block sees itself and the clean blocks before it; clean blocks see clean ones up to their own.
TESSERA_API Mask block_diffusion(int length, int size, SourceLoc loc = SourceLoc::here());

// BigBird: a query block sees itself and its neighbours, the first and the last block, and `random` others, which the
// seed chooses for each head and block; the first and the last query block see everything.
struct BigBird {
  int block = 64;
  int random = 3;  // as far as there are so many others
  int heads = 1;   // with lists of their own; those beyond use them again, in turn
  std::uint64_t seed = 0;
};
TESSERA_API Mask bigbird(std::int64_t tokens, const BigBird& options, SourceLoc loc = SourceLoc::here());
// The random key blocks of query block i under head h, ascending: element h * blocks + i.
TESSERA_API std::vector<std::vector<std::int32_t>> bigbird_blocks(std::int64_t tokens, const BigBird& options,
                                                                  SourceLoc loc = SourceLoc::here());

// S2 attention: a causal window of `local` blocks, and of the blocks before it every `stride`-th, where the heads take
// turns: (j + h * max(1, stride / heads) + offset) % stride == 0.
struct LocalStride {
  int block = 64;
  int local = 16;  // blocks
  int stride = 8;  // blocks
  int heads = 1;   // with turns of their own
  int group = 1;   // query heads that share a turn, as those of one key head
  int offset = 0;
};
TESSERA_API Mask local_stride(const LocalStride& options, Align align = Align::bottom_right,
                              SourceLoc loc = SourceLoc::here());

}  // namespace tessera
