#include <tessera/backend/passes/fit_memory.h>

#include <algorithm>

#include <tessera/backend/emit/memory_plan.h>
#include <tessera/backend/passes/pipeline_loads.h>

namespace tessera::backend {

using namespace ir;

namespace {

using Ids = std::unordered_set<std::uint32_t>;

// Rings and mbarriers of at most `looped` stages in loops, and at most `others` elsewhere.
Kernel with_stages(const Kernel& kernel, const Ids& in_loops, int looped, int others) {
  Kernel out = kernel;
  for (const Op& op : kernel.entry.ops) {
    if (op.code != OpCode::alloc) continue;
    int& of_ring = out.values[op.results[0].id].type.stages;
    of_ring = std::min(of_ring, in_loops.contains(op.results[0].id) ? looped : others);
  }
  return out;
}

}  // namespace

Kernel fit_memory(const Kernel& kernel, const Target& target) {
  const Ids in_loops = looped_rings(kernel);
  int looped = 1, others = 1;
  for (const Op& op : kernel.entry.ops) {
    if (op.code != OpCode::alloc) continue;
    int& most = in_loops.contains(op.results[0].id) ? looped : others;
    most = std::max(most, kernel.type(op.results[0]).stages);
  }
  for (;;) {
    Kernel out = with_stages(kernel, in_loops, looped, others);
    const int bytes = plan_memory(out).total;
    if (bytes <= target.shared_bytes) return out;
    if (looped == 1 && others == 1)
      throw UserError({},
                      "the tiles of kernel '" + kernel.name + "' need " + std::to_string(bytes) +
                          " bytes of shared memory, " + target.name + " has " + std::to_string(target.shared_bytes),
                      "choose smaller tiles");
    --(others > 1 ? others : looped);
  }
}

}  // namespace tessera::backend
