#include <tessera/backend/passes/pipeline_loads.h>

#include <unordered_set>

#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

using namespace ir;

std::unordered_set<std::uint32_t> looped_rings(const Kernel& kernel) {
  const std::vector<const Op*> definition = definitions(kernel);
  std::unordered_set<std::uint32_t> rings;
  const auto add = [&](Value v) {
    if (const Op* op = definition[v.id]; op && op->code == OpCode::alloc) rings.insert(v.id);
  };
  walk(kernel.entry, [&](const Op& loop) {
    if (loop.code != OpCode::loop) return;
    walk(loop.regions[0], [&](const Op& op) {
      for (Value v : op.operands) add(v);
      if (op.code == OpCode::copy) add(definition[op.operands[0].id]->operands[0]);
    });
  });
  return rings;
}

Kernel pipeline_loads(const Kernel& kernel, const Schedule& schedule) {
  Kernel out = kernel;
  const std::unordered_set<std::uint32_t> looped = looped_rings(kernel);
  const int others = find_programs(kernel) ? 2 : 1;
  for (const Op& op : kernel.entry.ops)
    if (op.code == OpCode::alloc)
      out.values[op.results[0].id].type.stages = looped.contains(op.results[0].id) ? schedule.stages : others;
  return out;
}

}  // namespace tessera::backend
