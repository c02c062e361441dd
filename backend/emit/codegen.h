// LLVM's optimiser and NVPTX code generator behind two functions. The only file that knows pass managers and target
// machines.
#pragma once

#include <memory>
#include <string>

#include <llvm/IR/Module.h>

#include <tessera/backend/target.h>

namespace tessera::backend {

// Triple and data layout of the target; before any code is built.
void set_target(llvm::Module& module, const Target& target);

struct Generated {
  std::string llvm_ir;  // as the code generator received it
  std::string ptx;
};

// Verifies, optimises and prints. InternalError with the module's text when LLVM refuses it.
Generated generate(llvm::Module& module, const Target& target);

}  // namespace tessera::backend
