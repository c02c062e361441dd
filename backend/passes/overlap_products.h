// Keeps the tensor cores busy during elementwise work: the second product of one iteration runs beside the first
// product of the next.
//
//   before (a consumer's loop)                          after
//   loop %lo to %hi (%m, %acc) { ^(%i)                  %f = lt %lo, %hi
//     mma_fence; %s0 = mma %q, K(%i); mma_commit        when %f { (first iteration up to %p, and %acc * %r) }
//     %s = mma_wait 0 %s0                               loop %lo + %f to %hi (%m, %p, %a) { ^(%i)
//     (elementwise: %m', %r, %e)                          mma_fence; %s0 = mma %q, K(%i); mma_commit
//     %p = cast %e                                        mma_fence; %o0 = mma %p, V(%i - 1), %a; mma_commit
//     mma_fence; %o0 = mma %p, V(%i), %acc * %r           %s = mma_wait 1 %s0
//     mma_commit; %o = mma_wait 0 %o0                     (elementwise: %m', %r)
//     yield %m', %o                                       %o = mma_wait 0 %o0; %a' = %o * %r
//   }                                                     (elementwise: %e)
//                                                         yield %m', cast %e, %a'
//                                                       }
//                                                       when %f { mma_fence; mma %p, V(%hi - 1), %a; mma_commit; ... }
//
// It applies to any loop of a role whose last product accumulates into a carried tile that nothing else of the
// iteration reads but its own scaling, with a left operand from registers. Of loops that carry the same values on, as
// those over partial and over full tiles do, the first that has a trip fills the pipeline and the last one drains it.
// The operand is defined after the wait that covers the product before it: registers of a product in flight must not be
// written. Costs the registers of one more operand. With Schedule::skip_ones the scaling is `scale`, which leaves
// factors of 1 out: worth it where the products of a tile are many beside its exponentials. Runs after split_roles,
// before place_barriers, which then finds the waits and releases.
#pragma once

#include <tessera/backend/schedule.h>

namespace tessera::backend {

ir::Kernel overlap_products(const ir::Kernel& kernel, const Schedule& schedule);

}  // namespace tessera::backend
