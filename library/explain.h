// What one attention call does and costs, as text for people and JSON for programs.
//
// {"device": "...", "target": "sm_90a", "assembler": "...", "dtype": "bf16", "shapes": {...},
//  "passes": [{"query_order": "[1:128]", "query_tile": 128, "sources": [{"key_order": "[1:128]", "key_tile": 128,
//    "schedule": "spans", "tiles": {"visited": 9, "full": 7, "partial": 2}}]}],
//  "tiles": {"total": 64, "visited": 9, "full": 7, "partial": 2}, "skipped": 0.859,
//  "predicted_ms": 0.42, "registers": 240, "spill_bytes": 0, "shared_bytes": 163912, "threads": 384, "blocks": 1,
//  "compile_ms": {"trace": 0.1, "plan": 0.2, "passes": 1.9, "llvm": 60.1, "assemble": 180.4}, "cache": "compiled", ...}
// What a kernel takes is said at the top level for the first pass, and in each pass for its own.
// A number nobody could find out (registers, where nothing can assemble) is null, and "notes" says why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tessera/backend/schedule.h>
#include <tessera/dsl/mask/plan.h>

namespace tessera::library {

struct CompileTimes {
  double trace = 0, plan = 0, passes = 0, llvm = 0, assemble = 0;
};

// What the kernel of a pass takes.
struct KernelNeeds {
  backend::Schedule schedule;
  std::optional<int> registers, spill_bytes;
  int shared_bytes = 0, threads = 0, blocks = 1;
};

struct Explanation {
  std::string device;  // "NVIDIA H200", or "CPU (interpreter)"
  std::string target;
  std::string assembler;  // "ptxas 13.0", "driver", "none"
  DType dtype = DType::bf16;
  int head_dim = 0, value_dim = 0;
  std::int64_t batch = 0, heads = 0, kv_heads = 0, query_length = 0, key_length = 0;
  mask::Plan plan;                   // without its lists
  double predicted_ms = 0;           // of a call, by the cost model of an H200
  std::vector<KernelNeeds> kernels;  // one a pass
  CompileTimes ms;                   // of all of them
  std::string cache;                 // "compiled", "memory", "disk"
  int compiles = 0;                  // kernels this Attention has had to compile so far
  std::vector<std::string> notes;
};

std::string to_text(const Explanation& explanation);
std::string to_json(const Explanation& explanation);

}  // namespace tessera::library
