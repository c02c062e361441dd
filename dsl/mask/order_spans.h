// The closed form of a pass in token orders, as kernels take it: one box of key tiles for each query tile.
#pragma once

#include <tessera/dsl/mask/planner.h>

namespace tessera::mask {

// Gives the pass's one source spans and counts, and the pass the order of its programs, where the predicate has a
// closed form that is one box (digit_spans.h) and visits no more tiles than `tiles` by a twentieth. Else the pass stays
// as it is, and the answer is false.
bool make_order_spans(Pass& pass, const Pointwise& predicate, const PlanRequest& request, double tiles);

}  // namespace tessera::mask
