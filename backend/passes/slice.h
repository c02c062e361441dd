// The part of a kernel that some of its effects need: those ops, what computes their operands, and the loops and
// branches around them with only the carried values that matter.
#pragma once

#include <functional>

#include <tessera/dsl/ir/ir.h>

namespace tessera::backend {

// Keeps the ops for which `root` holds and all they depend on. Value ids stay as they are in `kernel`.
ir::Kernel slice(const ir::Kernel& kernel, const std::function<bool(const ir::Op&)>& root);

}  // namespace tessera::backend
