// From a tiled kernel to something that can be launched: PTX, machine code, and the recipe for its parameters. Built
// once a process and kept on disk. The key is what the kernel is and what it was built with, never what it is called
// with.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tessera/backend/compile.h>
#include <tessera/library/planned.h>
#include <tessera/runtime/cache.h>
#include <tessera/runtime/program.h>

namespace tessera::library {

struct BuildRequest {
  const ir::Kernel* tiled = nullptr;
  std::string text;  // print(*tiled), without locations
  const backend::Target* target = nullptr;
  backend::Schedule schedule;  // resolved
  bool line_info = false;
};

// As the environment says; what `schedule` leaves open is chosen by the backend.
BuildRequest request_to_build(const PlannedKernel& kernel, const backend::Target& target,
                              const backend::Schedule& schedule);

enum class Origin : std::uint8_t { compiled, memory, disk };
std::string_view name_of(Origin origin);

// Immutable but for what is loaded on devices, and shared by all who asked for the same kernel.
struct Built {
  Built(backend::Artifact artifact, runtime::Image image);

  const backend::Artifact artifact;  // with its PTX
  const runtime::Program program;    // with its image

  // What the assembler reported; nothing where only the driver assembles. `device`: then load there and ask the driver.
  std::optional<runtime::KernelUsage> usage(const runtime::Device* device) const;
};

struct BuildResult {
  std::shared_ptr<const Built> built;
  Origin origin = Origin::compiled;
  double passes_ms = 0, llvm_ms = 0, assemble_ms = 0;  // of this call; 0 when it compiled nothing
};

// Two threads may build two kernels at once; two that want the same kernel build it once.
// UserErrors: the kernel does not fit the target; the PTX does not assemble.
BuildResult build(const BuildRequest& request);

// The compiler without the caches, for the texts that are not kept: the placed kernel and the LLVM IR.
backend::Compiled compile_again(const BuildRequest& request);

const runtime::Assembler& assembler();  // of this process, found on first use
runtime::Cache& kernel_cache();

}  // namespace tessera::library
