// The tile map of a predicate as lists: which key tiles each query tile visits, and which of them are full.
#pragma once

#include <tessera/dsl/mask/box_analysis.h>
#include <tessera/dsl/mask/plan.h>

namespace tessera::mask {

// Appends one row a query tile to `list`, in the tiles of the analysis's own orders. Descends from the root over boxes
// of (query tiles x key tiles), the longest digit first: the time is that of the list plus its boundary, never that of
// the grid. Tiles of both sides are named by their numbers.
void append_rows(BoxAnalysis& analysis, TileList& list);

}  // namespace tessera::mask
