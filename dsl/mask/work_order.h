// The order in which the programs of a masked kernel are taken: those with many tiles first, so that a launch does not
// end with a few long ones.
//
// Where later query tiles see clearly more keys than earlier ones (causal masks), or the other way round, programs go
// from the long end to the short one, a section of heads at a time: keys and values of a section stay in the L2 cache
// while all its query tiles pass over them. Where the work is even, heads come one after the other.
#pragma once

#include <tessera/dsl/mask/plan.h>

namespace tessera::mask {

ir::WorkOrder work_order(const Pass& pass);

}  // namespace tessera::mask
