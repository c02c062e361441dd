#include <tessera/backend/schedule.h>

#include <algorithm>

#include <tessera/backend/layouts.h>
#include <tessera/backend/warpgroup.h>
#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

namespace {

constexpr int kMostGroups = 3, kMostStages = 8, kMostBlocks = 8;
constexpr int kNarrow = 64;          // columns of an accumulator
constexpr int kOtherRegisters = 32;  // addresses, row statistics and what the assembler wants to itself

// Columns of the widest product that is accumulated over a loop.
int widest_result(const ir::Kernel& tiled, ir::Axis row) {
  int columns = 0;
  ir::walk(tiled.entry, [&](const ir::Op& op) {
    if (op.code != ir::OpCode::dot || op.operands.size() < 3) return;
    for (const ir::Dim& d : tiled.type(op.results[0]).dims)
      if (!(d.axis == row)) columns = std::max(columns, d.extent);
  });
  return columns;
}

void refuse_too_many_threads(const Schedule& s) {
  constexpr int kMostThreads = 2048;  // of a multiprocessor
  const int threads = kGroupThreads * (1 + s.warpgroups);
  if (s.blocks * threads > kMostThreads)
    throw UserError({},
                    "a schedule of " + std::to_string(s.blocks) + " blocks of " + std::to_string(threads) +
                        " threads, and a multiprocessor runs " + std::to_string(kMostThreads),
                    "use at most " + std::to_string(kMostThreads / threads) + " blocks, or 0 for the default");
}

void refuse_too_many_registers(const ir::Kernel& tiled, const LayoutRule& rule, int groups, const Target& target) {
  const int needed = accumulator_registers(tiled, rule.row().axis) + kOtherRegisters;
  const int available = register_budget(target, groups).computing;
  if (needed > available)
    throw UserError({},
                    "kernel '" + tiled.name + "' needs about " + std::to_string(needed) + " registers a thread, and " +
                        std::to_string(groups) + " warpgroups of " + target.name + " have " +
                        std::to_string(available) + " each",
                    "choose a smaller tile along " + rule.row().axis.name() + " than " +
                        std::to_string(rule.row().extent) + ", or narrower products");
}

}  // namespace

int accumulator_registers(const ir::Kernel& tiled, ir::Axis row) {
  std::vector<ir::Dim> widest;
  ir::walk(tiled.entry, [&](const ir::Op& op) {
    if (op.code != ir::OpCode::dot && op.code != ir::OpCode::mma) return;
    for (const ir::Dim& d : tiled.type(op.results[0]).dims) {
      if (d.axis == row) continue;
      const auto same = std::find_if(widest.begin(), widest.end(), [&](const ir::Dim& w) { return w.axis == d.axis; });
      if (same == widest.end())
        widest.push_back(d);
      else
        same->extent = std::max(same->extent, d.extent);
    }
  });
  int registers = 0;
  for (const ir::Dim& d : widest) registers += d.extent / 2;
  return registers;
}

std::string to_string(const Schedule& s) {
  const auto choice = [](const char* name, std::optional<bool> value) {
    return !value ? std::string(", ") + name + " if it pays" : *value ? std::string(", ") + name : std::string();
  };
  return "warpgroups " + std::to_string(s.warpgroups) + ", stages " + std::to_string(s.stages) +
         (s.blocks > 0 ? ", blocks " + std::to_string(s.blocks) : "") + (s.persistent ? ", persistent" : "") +
         (s.overlap ? ", overlap" : "") + choice("turns", s.turns) + choice("skip ones", s.skip_ones);
}

Schedule resolve(Schedule wanted, const ir::Kernel& tiled, const Target& target) {
  const LayoutRule rule(tiled);
  if (rule.has_products() && !target.has_warpgroup_products)
    throw UserError({}, "target " + target.name + " has no warpgroup matrix products", "compile for sm_90a");
  if (wanted.stages < 1 || wanted.stages > kMostStages)
    throw UserError({}, "a schedule of " + std::to_string(wanted.stages) + " stages",
                    "use 1 to " + std::to_string(kMostStages));
  if (wanted.blocks < 0 || wanted.blocks > kMostBlocks)
    throw UserError({}, "a schedule of " + std::to_string(wanted.blocks) + " blocks a multiprocessor",
                    "use 1 to " + std::to_string(kMostBlocks) + ", or 0 for the default");
  if (!rule.has_products()) {
    wanted.blocks = 0;
    wanted.warpgroups = 1;
    wanted.persistent = wanted.overlap = false;
    wanted.turns = wanted.skip_ones = false;
    return wanted;
  }
  const int groups = rule.row().extent / kGroupRows;
  if (wanted.warpgroups == 0) wanted.warpgroups = groups;
  if (wanted.warpgroups != groups)
    throw UserError({},
                    "a schedule of " + std::to_string(wanted.warpgroups) + " warpgroups for a tile of " +
                        std::to_string(rule.row().extent) + " rows",
                    "each warpgroup computes 64 rows: use " + std::to_string(groups));
  if (groups > kMostGroups)
    throw UserError({}, "a tile of " + std::to_string(rule.row().extent) + " rows along " + rule.row().axis.name(),
                    "the registers of a multiprocessor are enough for 192: choose 64, 128 or 192");
  refuse_too_many_threads(wanted);
  refuse_too_many_registers(tiled, rule, groups, share_of(target, std::max(wanted.blocks, 1)));
  // Three warpgroups of narrow products wait for their exponentials, and need to be kept apart; of wide ones, only
  // while programs are alike, for otherwise they come apart by themselves. Two take turns without being told.
  const bool narrow = widest_result(tiled, rule.row().axis) <= kNarrow;
  if (!wanted.turns) wanted.turns = groups == kMostGroups && (narrow || tiled.order == ir::WorkOrder{});
  if (!wanted.skip_ones) wanted.skip_ones = wanted.overlap;
  return wanted;
}

}  // namespace tessera::backend
