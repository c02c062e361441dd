#include <tessera/backend/passes/pipeline_loads.h>

#include <unordered_set>

#include <tessera/backend/passes/place_memory.h>
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

Kernel with_stages(const Kernel& kernel, const std::unordered_set<std::uint32_t>& rings, int stages) {
  Kernel out = kernel;
  for (std::uint32_t id : rings) out.values[id].type.stages = stages;
  return out;
}

}  // namespace

int shared_ring_bytes(const Kernel& kernel) {
  int bytes = 0;
  walk(kernel.entry, [&](const Op& op) {
    if (op.code != OpCode::alloc) return;
    const Type& type = kernel.type(op.results[0]);
    bytes += type.stages * (type.kind == TypeKind::shared ? shared_tile_bytes(type) : 8);
  });
  return bytes;
}

Kernel pipeline_loads(const Kernel& kernel, const Schedule& schedule, const Target& target) {
  const std::unordered_set<std::uint32_t> rings = looped_rings(kernel);
  // Every ring may get a second barrier later; and the first tile is aligned to 1024 bytes.
  const int reserve = 1024 + 8 * schedule.stages * static_cast<int>(rings.size());
  for (int stages = schedule.stages; stages > 0; --stages) {
    Kernel out = with_stages(kernel, rings, stages);
    if (shared_ring_bytes(out) + reserve <= target.shared_bytes) return out;
  }
  throw UserError({},
                  "the tiles of kernel '" + kernel.name + "' need " +
                      std::to_string(shared_ring_bytes(kernel) + reserve) + " bytes of shared memory, " + target.name +
                      " has " + std::to_string(target.shared_bytes),
                  "choose smaller tiles");
}

}  // namespace tessera::backend
