// Moves loads for products out of branches that the producer cannot decide.
//
//   before  %any = reduce_any ...                      after  %v = load v(...)
//           %o = when %any (%o = %acc) {                      %any = reduce_any ...
//             %v = load v(...)                                %o = when %any (%o = %acc) {
//             %1 = dot Key %p, %v, %o                           %1 = dot Key %p, %v, %o
//           }                                                 }
//
// A condition computed from tiles exists only in the warps that compute, while a producer warp runs ahead of them. The
// tile is then loaded whether needed or not (loads never fault: what lies outside reads as 0); the branch still saves
// the product. A condition made of scalars, lists and lengths is evaluated by the producer as well, and stays, unless
// it is asked within a branch that the producer cannot decide.
// Runs before place_memory, after assign_layouts.
#pragma once

#include <tessera/dsl/ir/ir.h>

namespace tessera::backend {

// UserErrors: a load in a loop that stands in such a branch or has such bounds; a coordinate computed in such a branch.
ir::Kernel hoist_loads(const ir::Kernel& kernel);

}  // namespace tessera::backend
