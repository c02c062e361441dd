// Source lines of the user's program in the PTX (`.loc`), for profilers.
//
// The compile unit is "debug directives only": any fuller kind makes the target `sm_90a, debug`, for which ptxas
// generates slow code.
#pragma once

#include <map>
#include <string>

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>

#include <tessera/dsl/diagnostics.h>

namespace tessera::backend {

class DebugInfo {
 public:
  // `first` is where the kernel begins, as far as anything knows.
  DebugInfo(llvm::Module& module, llvm::Function& function, SourceLoc first);
  void set(llvm::IRBuilderBase& b, SourceLoc loc);
  void finish() { builder_.finalize(); }

 private:
  llvm::DIFile* file(const char* path);

  llvm::DIBuilder builder_;
  llvm::DISubprogram* subprogram_ = nullptr;
  std::map<std::string, llvm::DIScope*> scopes_;
  SourceLoc last_;
};

}  // namespace tessera::backend
