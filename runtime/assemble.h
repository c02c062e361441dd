// PTX to machine code: by the ptxas program where there is one, else by the driver when the code is loaded.
//
// nvJitLink is no substitute: it ignores setmaxnreg and spills where both of these don't.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tessera/runtime/error.h>
#include <tessera/runtime/image.h>

namespace tessera::runtime {

class Cache;

struct AssemblyOptions {
  std::string target = "sm_90a";
  int optimization = 3;
  bool line_info = false;
};

// The PTX was refused. `output` is what the assembler wrote.
class AssemblyError : public Error {
 public:
  AssemblyError(const std::string& assembler, const std::string& cause, std::string output);
  const std::string& output() const { return output_; }

 private:
  std::string output_;
};

// An assembler, found once and used many times.
class Assembler {
 public:
  // TESSERA_PTXAS where it is set ("none" for the driver), else the first ptxas in program_directories(). With a cache,
  // the version of a program is remembered there, which saves starting it.
  static Assembler find(Cache* cache = nullptr);

  static Assembler ptxas(const std::string& path, Cache* cache = nullptr);  // throws Error if it doesn't run
  static Assembler by_driver(std::string why);

  bool is_ptxas() const { return !path_.empty(); }

  // Part of every cache key: "ptxas 13.0.88 (cuda_13.0.r13.0/compiler.36424714_0)" or "driver CUDA 13.0".
  const std::string& identity() const { return identity_; }

  // Why the driver assembles; empty for ptxas.
  const std::string& why_driver() const { return why_driver_; }

  // Throws AssemblyError. For the driver this only wraps the PTX: the errors come when it is loaded.
  Image assemble(const std::string& ptx, const AssemblyOptions& options) const;

 private:
  Assembler() = default;

  std::string path_, identity_, why_driver_;
};

// "driver CUDA 13.0", or "driver" where there is none.
std::string driver_assembler();

// "13.0.88" and the build of `ptxas --version`; nothing if the text is no such output.
std::optional<std::string> parse_ptxas_version(const std::string& text);

}  // namespace tessera::runtime
