// Tensor copies, as instructions.
#pragma once

#include <tessera/backend/emit/emitter.h>

namespace tessera::backend {

// The mbarrier that a copy completes on, for its ticket.
llvm::Value* copy_barrier(Emitter& e, const ir::Op& copy);

// One box of a tensor map from `coordinates` (innermost first) on, to shared memory.
void copy_box(Emitter& e, llvm::Value* to, llvm::Value* barrier, llvm::Value* map, const Values& coordinates);

}  // namespace tessera::backend
