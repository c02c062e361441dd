// What the user's environment says. The only reader of environment variables in the library; everybody else is given
// the option structs that are filled from it. (Where the cache is and which assembler runs: runtime/environment.h,
// which also reads the cache's size; what it may be is checked here, where there is an error to tell.)
//
//   TESSERA_DEVICE          ordinal of the GPU that kernels are prepared for; "cpu": none (default 0)
//   TESSERA_THREADS         threads of the interpreter (default: one a core)
//   TESSERA_LINE_INFO       1: source lines in the PTX, for profilers
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <tessera/dsl/diagnostics.h>

namespace tessera::library {

struct Environment {
  std::optional<int> device = 0;  // none: the CPU only
  int threads = 0;                // 0: one a core
  bool line_info = false;
};

// The process's environment, read once.
const Environment& environment();

// From any source of variables; null for one that is not set. UserErrors name the variable and what it may hold.
Environment read_environment(const std::function<const char*(const char*)>& variable);

}  // namespace tessera::library
