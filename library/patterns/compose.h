// Masks made of other masks.
#pragma once

#include <vector>

#include <tessera/dsl/lang/mask.h>

namespace tessera {

// Head h has masks[choice[h]]: heads that see everything beside heads that see a window.
TESSERA_API Mask per_head(const std::vector<Mask>& masks, const std::vector<int>& choice,
                          SourceLoc loc = SourceLoc::here());

// Context parallelism: this machine's queries over another's keys, both counted from 0, under a mask over all tokens.
// The results over all keys' machines are put together by `merge`. Machine r has the r-th of `ranks` runs of
// ceil(tokens / ranks) tokens; in a zigzag the r-th from the front and the r-th from the back of 2 * ranks runs, so
// that causal work is even.
struct Ring {
  std::int64_t tokens = 0;
  int ranks = 1, query_rank = 0, key_rank = 0;
  bool zigzag = false;
};
TESSERA_API Mask ring(const Mask& mask, const Ring& options, SourceLoc loc = SourceLoc::here());
// How many tokens machine `rank` has.
TESSERA_API std::int64_t ring_tokens(const Ring& options, int rank, SourceLoc loc = SourceLoc::here());

}  // namespace tessera
