// Code as bytes, with what its assembler reported: what is cached, and what a Module is loaded from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::runtime {

// What an assembler says about one kernel.
struct KernelUsage {
  std::string entry;
  int registers = 0;
  int stack_bytes = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
  int shared_bytes = 0;  // static
  int barriers = 0;

  int spill_bytes() const { return spill_store_bytes + spill_load_bytes; }
  friend bool operator==(const KernelUsage&, const KernelUsage&) = default;
};

// A warning or an advisory such as "(C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized
// ...".
struct AssemblyNote {
  std::string code;  // "C7510"; empty for a plain warning
  std::string text;
  friend bool operator==(const AssemblyNote&, const AssemblyNote&) = default;
};

struct AssemblyReport {
  std::vector<KernelUsage> kernels;
  std::vector<AssemblyNote> notes;
  std::string text;  // all of it

  const KernelUsage* find(std::string_view entry) const;
  friend bool operator==(const AssemblyReport&, const AssemblyReport&) = default;
};

// Reads the verbose output of ptxas, or the log of the driver's assembler, which has the same form.
AssemblyReport parse_report(std::string_view text);

struct Image {
  enum class Kind : std::uint8_t {
    cubin,  // assembled by ptxas
    ptx,    // to be assembled by the driver when it is loaded
  };
  Kind kind = Kind::cubin;
  std::string bytes;
  std::string assembler;     // "ptxas 13.0.88 (...)", or "driver CUDA 13.0"
  std::string why_no_cubin;  // for PTX: why ptxas was not used
  int optimization = 3;
  bool line_info = false;
  AssemblyReport report;  // of ptxas

  friend bool operator==(const Image&, const Image&) = default;
};

// To bytes and back. Bytes that `serialise` did not make give nothing.
std::string serialise(const Image& image);
std::optional<Image> parse_image(std::string_view bytes);

}  // namespace tessera::runtime
