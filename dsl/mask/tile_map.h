// The tile map of a predicate as lists: which key tiles each query tile visits, and which of them are full.
#pragma once

#include <tessera/dsl/mask/box_analysis.h>
#include <tessera/dsl/mask/plan.h>

namespace tessera::mask {

// Appends one row a query tile to `list`. The orders have the digits of the analysis, and tiles of their own. Descends
// from the root over boxes of (query tiles x key tiles), the longest digit first: the time is that of the list plus its
// boundary, never that of the grid. Tiles of both sides are named by their numbers.
void append_rows(BoxAnalysis& analysis, const TokenOrder& queries, const TokenOrder& keys, TileList& list);

// Lengths of one row of that list. `decided`: tiles that the analysis cannot tell at once are looked into; else they
// are partial.
struct RowCount {
  Int visited = 0, full = 0;
};
RowCount count_row(BoxAnalysis& analysis, const TokenOrder& queries, const TokenOrder& keys, const Digits& query_tile,
                   bool decided);

}  // namespace tessera::mask
