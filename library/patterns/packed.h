// Masks of sequences that several texts share, by side tables over raw indices: documents, prompts with many answers,
// trees of guesses, images beside a text.
#pragma once

#include <cstdint>
#include <vector>

#include <tessera/dsl/lang/mask.h>
#include <tessera/dsl/lang/table.h>
#include <tessera/library/patterns/align.h>

namespace tessera {

// Keys of the query's own document: ids[q] == ids[k]. The mask is for sequences of as many tokens as there are ids.
TESSERA_API Mask documents(const Table<i32>& ids, SourceLoc loc = SourceLoc::here());
TESSERA_API Mask documents(const std::vector<std::int32_t>& ids, SourceLoc loc = SourceLoc::here());

// The ids of documents of these lengths, one after another: {2, 3} gives 0 0 1 1 1.
TESSERA_API std::vector<std::int32_t> document_ids(const std::vector<std::int64_t>& lengths,
                                                   SourceLoc loc = SourceLoc::here());

// Query q sees keys from first[q] to before end[q]: with the offsets of packed texts, as documents.
TESSERA_API Mask key_ranges(const std::vector<std::int32_t>& first, const std::vector<std::int32_t>& end,
                            SourceLoc loc = SourceLoc::here());

// Texts of these lengths one after another, causal within each; text i also sees all of text prefix[i], which stands
// before it: the prompt that it answers (-1: none).
struct SharedPrefix {
  std::vector<std::int64_t> lengths;
  std::vector<int> prefix;
};
TESSERA_API Mask shared_prefix(const SharedPrefix& options, SourceLoc loc = SourceLoc::here());

// Queries are the nodes of a tree, each of which sees itself and its ancestors, and all keys before the tree: those
// that there are more keys than queries. parent[i] is before i, or -1 at a root.
TESSERA_API Mask tree(const std::vector<int>& parent, SourceLoc loc = SourceLoc::here());

// Keys are those of images of `keys_per_image` each; queries from first[i] to before end[i] see image i.
struct ImageIntervals {
  int keys_per_image = 1;
  std::vector<int> first, end;
};
TESSERA_API Mask image_intervals(const ImageIntervals& options, SourceLoc loc = SourceLoc::here());

// A window of `width` keys to either side of the query, and the tokens that see and are seen by all: the first `count`,
// or those whose flag is not 0.
TESSERA_API Mask global_window(int width, int count, SourceLoc loc = SourceLoc::here());
TESSERA_API Mask global_window(int width, const std::vector<int>& is_global, SourceLoc loc = SourceLoc::here());

// Neighbours, and a hub that sees and is seen by all.
TESSERA_API Mask star(int hub = 0, SourceLoc loc = SourceLoc::here());

}  // namespace tessera
