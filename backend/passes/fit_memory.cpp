#include <tessera/backend/passes/fit_memory.h>

#include <algorithm>

#include <tessera/backend/emit/memory_plan.h>

namespace tessera::backend {

using namespace ir;

namespace {

// Rings and mbarriers of at most `stages`.
Kernel with_stages(const Kernel& kernel, int stages) {
  Kernel out = kernel;
  for (const Op& op : kernel.entry.ops) {
    if (op.code != OpCode::alloc) continue;
    int& of_ring = out.values[op.results[0].id].type.stages;
    of_ring = std::min(of_ring, stages);
  }
  return out;
}

}  // namespace

Kernel fit_memory(const Kernel& kernel, const Target& target) {
  int stages = 1;
  for (const Op& op : kernel.entry.ops)
    if (op.code == OpCode::alloc) stages = std::max(stages, kernel.type(op.results[0]).stages);
  for (;; --stages) {
    Kernel out = with_stages(kernel, stages);
    const int bytes = plan_memory(out).total;
    if (bytes <= target.shared_bytes) return out;
    if (stages == 1)
      throw UserError({},
                      "the tiles of kernel '" + kernel.name + "' need " + std::to_string(bytes) +
                          " bytes of shared memory, " + target.name + " has " + std::to_string(target.shared_bytes),
                      "choose smaller tiles");
  }
}

}  // namespace tessera::backend
