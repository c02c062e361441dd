// The plan of a mask that takes least time on a device, by the cost model: in runs of consecutive tokens, or in token
// orders where those make tiles so much denser that it pays: one order of the queries, or, where alternatives of the
// mask want two, a chain of two passes.
#pragma once

#include <tessera/dsl/mask/rank.h>

namespace tessera::mask {

// make_plan's plan of the request, unless another one that kernels can run is clearly faster: the search is made only
// where the predicate divides or reduces positions and the launch is long enough to gain by it. A plan in token orders
// reads lists, for the lengths of the request. UserErrors as make_plan.
Plan choose_plan(const Pointwise& predicate, const PlanRequest& request, const TargetCosts& costs);

// One pass over one source, in runs of consecutive tokens, as make_plan's plans are.
bool is_plain(const Plan& plan);

// Predicted time of a plan whose tiles are counted: work evenly spread over the device, one launch a pass, and O and
// LSE of a chain.
double seconds_of(const Plan& plan, const PlanRequest& request, const TargetCosts& costs);

}  // namespace tessera::mask
