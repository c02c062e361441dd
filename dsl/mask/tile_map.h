// The tile map of a predicate as lists: which key tiles each query tile visits, and which of them are full.
#pragma once

#include <tessera/dsl/mask/box_analysis.h>
#include <tessera/dsl/mask/plan.h>

namespace tessera::mask {

struct TileGrid {
  Int query_length = 0, key_length = 0;  // key_length: the bound, where keys are bounded
  int query_tile = 128, key_tile = 128;
  Int query_tiles() const { return ceil_div(query_length, query_tile); }
  Int key_tiles() const { return ceil_div(key_length, key_tile); }
};

// Appends one row a query tile to `list`. Descends from the root over boxes of (query tiles x key tiles), the longer
// side first: the time is that of the list plus its boundary, never that of the grid.
void append_rows(BoxAnalysis& analysis, const TileGrid& grid, TileList& list);

}  // namespace tessera::mask
