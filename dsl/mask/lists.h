// The tile lists of a pass: which key tiles of each of its sources every query tile visits, for given lengths.
#pragma once

#include <tessera/dsl/mask/planner.h>

namespace tessera::mask {

// Gives the pass, whose orders and parts are there, lists as schedules, with their counts, and the order of its
// programs. Heads and batch entries that fold to the same predicates over the same keys share rows, query tiles are
// taken longest first, in the same places of all lists.
void make_lists(Pass& pass, const Pointwise& predicate, const PlanRequest& request);

}  // namespace tessera::mask
