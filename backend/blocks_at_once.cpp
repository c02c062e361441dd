#include <tessera/backend/blocks_at_once.h>

#include <tessera/backend/emit/memory_plan.h>
#include <tessera/backend/warpgroup.h>

namespace tessera::backend {

namespace {

constexpr int kBlocksOfOneGroup = 2;
constexpr int kBarrierBytes = 256;  // at most: barriers and the mailbox are not there yet
constexpr int kOther = 80;          // registers beside accumulators and an operand: a predicate's, as measured

bool fits(const ir::Kernel& kernel, const LayoutRule& rule, int to_copy, const Target& share) {
  if (plan_memory(kernel).total + kBarrierBytes > share.shared_bytes) return false;
  const int accumulators = accumulator_registers(kernel, rule.row().axis);
  const int needed = accumulators + accumulators / 4 + kOther;  // the operand: of 16 bits, of half of them at most
  return needed <= register_budget(share, 1, to_copy).computing;
}

}  // namespace

int blocks_at_once(const ir::Kernel& kernel, const LayoutRule& rule, int to_copy, const Schedule& schedule,
                   const Target& target) {
  if (schedule.blocks > 0) return schedule.blocks;
  const bool alone = schedule.warpgroups == 1 && schedule.persistent;
  return alone && fits(kernel, rule, to_copy, share_of(target, kBlocksOfOneGroup)) ? kBlocksOfOneGroup : 1;
}

}  // namespace tessera::backend
