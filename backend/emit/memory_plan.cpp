#include <tessera/backend/emit/memory_plan.h>

#include <algorithm>

#include <tessera/backend/emit/placement.h>
#include <tessera/backend/warpgroup.h>
#include <tessera/dsl/ir/layout.h>
#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

using ir::Kernel;
using ir::Op;
using ir::OpCode;
using ir::Part;
using ir::Type;
using ir::TypeKind;

namespace {

constexpr int kAtom = 1024;  // bytes of a swizzle pattern

int round_up(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

Ring tile_ring(const Type& type) {
  if (type.dims.size() != 2 || bytes_of(type.dtype) != 2)
    throw InternalError("shared memory holds 16-bit tiles of two axes, not " + to_string(type));
  Ring ring{.stages = type.stages,
            .rows = type.dims[0].extent,
            .chunks = (type.dims[1].extent + kChunkColumns - 1) / kChunkColumns};
  ring.stage_bytes = round_up(ring.chunks * ring.chunk_bytes(), kAtom);
  return ring;
}

// Numbers the areas of the roles' warpgroups, and returns how many there are.
int count_areas(const Kernel& kernel, std::vector<int>& first_area) {
  if (kernel.roles.empty()) return 1;
  first_area.assign(kernel.roles.size(), -1);
  int areas = 0;
  for (const Op& op : kernel.entry.ops) {
    if (op.code != OpCode::role || is_producer(op)) continue;
    first_area.at(static_cast<std::size_t>(op.index)) = areas;
    areas += kernel.roles[static_cast<std::size_t>(op.index)].warpgroups;
  }
  if (areas > kNamedBarriers)
    throw InternalError(std::to_string(areas) + " warpgroups compute, but a block has named barriers for " +
                        std::to_string(kNamedBarriers));
  return areas;
}

}  // namespace

bool is_producer(const Op& role) {
  bool copies = false;
  for (const ir::Block& region : role.regions)
    ir::walk(region, [&](const Op& op) { copies = copies || op.code == OpCode::copy; });
  return copies;
}

int scratch_of(const Kernel& kernel, const Op& op) {
  if (op.code == OpCode::convert) {
    const Type &from = kernel.type(op.operands[0]), &to = kernel.type(op.results[0]);
    return same_threads(to, from) ? 0 : static_cast<int>(to.elements()) * 4;
  }
  if (ir::info(op.code).kind != ir::OpKind::reduce) return 0;
  const Type &from = kernel.type(op.operands[0]), &to = kernel.type(op.results[0]);
  if (!from.layout) return 0;
  const auto& warps = from.layout->digits(Part::warp);
  if (std::none_of(warps.begin(), warps.end(), [&](const ir::Digit& d) { return d.axis == op.axis && d.size > 1; }))
    return 0;
  return from.layout->size(Part::warp) * registers_of(to) * 32 * 4;
}

MemoryPlan plan_memory(const Kernel& kernel) {
  MemoryPlan plan;
  const int areas = count_areas(kernel, plan.first_area);
  int at = 0;
  ir::walk(kernel.entry, [&](const Op& op) {
    plan.scratch_bytes = std::max(plan.scratch_bytes, scratch_of(kernel, op));
    if (op.code != OpCode::alloc || kernel.type(op.results[0]).kind != TypeKind::shared) return;
    Ring ring = tile_ring(kernel.type(op.results[0]));
    ring.offset = at;
    at += ring.stages * ring.stage_bytes;
    plan.rings[op.results[0].id] = ring;
  });
  ir::walk(kernel.entry, [&](const Op& op) {
    if (op.code != OpCode::alloc || kernel.type(op.results[0]).kind != TypeKind::barrier) return;
    const Type& type = kernel.type(op.results[0]);
    plan.rings[op.results[0].id] = {.offset = at, .stage_bytes = 8, .stages = type.stages, .arrivals = type.arrivals};
    plan.barriers.push_back(op.results[0].id);
    at += 8 * type.stages;
  });
  if (ir::find_programs(kernel)) {
    MailboxPlan& box = plan.mailbox.emplace();
    box.readers = areas;
    box.full = at;
    box.empty = box.full + 8 * MailboxPlan::kPlaces;
    box.words = box.empty + 8 * MailboxPlan::kPlaces;
    at = box.words + 4 * MailboxPlan::kPlaces;
  }
  if (plan.scratch_bytes > 0) {
    plan.scratch_bytes = round_up(plan.scratch_bytes, 128);
    at = round_up(at, 128);
    plan.scratch = at;
    at += plan.scratch_bytes * areas;
  }
  plan.total = at;
  return plan;
}

}  // namespace tessera::backend
