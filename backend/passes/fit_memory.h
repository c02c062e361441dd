// Takes stages from rings until everything a block keeps in shared memory fits: first from those that loops do not go
// through, which only lead from one program to the next, then from the deepest.
//
//   before  %k_ring = alloc : shared<bf16[Key:128, Depth:256] x3>    after  %k_ring = alloc : shared<bf16[...] x1>
//           %k_full = alloc : barrier<1 x3>                                 %k_full = alloc : barrier<1 x1>
//           %k_empty = alloc : barrier<2 x3>                                %k_empty = alloc : barrier<2 x1>
//
// Any depth is correct, so this can come last, when all that needs memory is there to be counted: tiles, mbarriers, and
// what reductions exchange. The plan is the emitter's own.
#pragma once

#include <tessera/backend/target.h>
#include <tessera/dsl/ir/ir.h>

namespace tessera::backend {

// UserError with needed and available bytes if even one stage does not fit.
ir::Kernel fit_memory(const ir::Kernel& kernel, const Target& target);

}  // namespace tessera::backend
