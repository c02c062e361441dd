// Placed IR to LLVM IR to PTX. The implementation is the only code of the project that includes LLVM.
#pragma once

#include <string>

#include <tessera/backend/artifact.h>
#include <tessera/backend/target.h>
#include <tessera/dsl/ir/ir.h>

namespace tessera::backend {

struct EmitOptions {
  bool line_info = false;  // `.loc` directives from the ops' source locations
};

struct Emitted {
  Artifact artifact;
  std::string llvm_ir;  // as handed to the NVPTX backend
  double llvm_ms = 0;   // building, optimising and printing
};

// `placed` must be legal(placed, Stage::placed), `target` what one of its blocks has of a multiprocessor (share_of).
// Thread-safe. Throws InternalError when LLVM refuses the module.
TESSERA_API Emitted emit(const ir::Kernel& placed, const Target& target, const EmitOptions& options = {});

}  // namespace tessera::backend
