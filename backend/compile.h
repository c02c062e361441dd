// The compiler behind a tiled kernel, as one readable list of passes.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <tessera/backend/artifact.h>
#include <tessera/backend/emit/emit.h>
#include <tessera/backend/schedule.h>

namespace tessera::backend {

struct PassRecord {
  std::string name;
  double ms = 0;
  std::string ir;  // after the pass; empty unless CompileOptions::keep_ir
};

struct CompileOptions {
  EmitOptions emit;
  bool keep_ir = false;
};

struct Compiled {
  Artifact artifact;
  ir::Kernel placed;
  std::string llvm_ir;
  std::vector<PassRecord> passes;
  double passes_ms = 0, llvm_ms = 0;
};

// Tiled kernel to PTX. The kernel is verified after each pass.
Compiled compile(const ir::Kernel& tiled, const Target& target, const Schedule& schedule,
                 const CompileOptions& options = {});

// Only the passes: tiled kernel to placed kernel, for tests and for the interpreter.
ir::Kernel place(const ir::Kernel& tiled, const Target& target, const Schedule& schedule);

}  // namespace tessera::backend
