#include <tessera/backend/passes/pipeline_loads.h>

#include <unordered_set>

#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

using namespace ir;

namespace {

// Values (rings and their barriers) that copies inside loops go through.
std::unordered_set<std::uint32_t> looped_rings(const Kernel& kernel) {
  const std::vector<const Op*> definition = definitions(kernel);
  std::unordered_set<std::uint32_t> rings;
  walk(kernel.entry, [&](const Op& loop) {
    if (loop.code != OpCode::loop) return;
    walk(loop.regions[0], [&](const Op& op) {
      if (op.code != OpCode::copy) return;
      rings.insert(definition[op.operands[0].id]->operands[0].id);
      rings.insert(op.operands[1].id);
    });
  });
  return rings;
}

}  // namespace

Kernel pipeline_loads(const Kernel& kernel, const Schedule& schedule) {
  Kernel out = kernel;
  for (std::uint32_t id : looped_rings(kernel)) out.values[id].type.stages = schedule.stages;
  return out;
}

}  // namespace tessera::backend
