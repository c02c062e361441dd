#include <tessera/backend/target.h>

#include <algorithm>

#include <tessera/backend/warpgroup.h>
#include <tessera/dsl/diagnostics.h>

namespace tessera::backend {

Target share_of(const Target& target, int blocks) {
  constexpr int kReserved = 1024;  // bytes of shared memory that each block costs beside its own
  Target share = target;
  share.shared_bytes = (target.shared_bytes + kReserved) / blocks - kReserved;
  share.registers = target.registers / blocks;
  return share;
}

RegisterBudget register_budget(const Target& target, int computing, int to_copy) {
  const int groups = 1 + computing;  // all figures: registers of one thread of each warpgroup
  const int pool = groups * entry_registers(target, groups * kGroupThreads);
  const int share =
      (pool - std::max(target.copy_registers, to_copy)) / computing / target.register_step * target.register_step;
  RegisterBudget budget;
  budget.computing = std::min(share, target.thread_registers);
  budget.copying = std::min(pool - computing * budget.computing, target.thread_registers);
  return budget;
}

const std::vector<Target>& targets() {
  static const std::vector<Target> rows = {
      // clang-format off
      // name       cap  features  shared   registers TMA    wgmma  supported
      {"sm_80",     80,  "+ptx86", 166912,  65536,    false, false, false},
      {"sm_86",     86,  "+ptx86", 101376,  65536,    false, false, false},
      {"sm_89",     89,  "+ptx86", 101376,  65536,    false, false, false},
      {"sm_90a",    90,  "+ptx86", 232448,  65536,    true,  true,  true},
      {"sm_100a",   100, "+ptx86", 232448,  65536,    true,  false, false},
      {"sm_120a",   120, "+ptx87", 101376,  65536,    true,  false, false},
      // clang-format on
  };
  return rows;
}

namespace {

std::string supported_names() {
  std::string names;
  for (const Target& t : targets())
    if (t.supported) names += (names.empty() ? "" : ", ") + t.name;
  return names;
}

std::string missing(const Target& t) {
  if (!t.has_tensor_copies)
    return "it has no tensor copies and no warpgroup matrix products, which the generated kernels use";
  return "it has no warpgroup matrix products, which the generated kernels use";
}

const Target& supported(const Target& t) {
  if (!t.supported)
    throw UserError({}, "target " + t.name + " is not supported: " + missing(t),
                    "supported targets: " + supported_names());
  return t;
}

}  // namespace

const Target& target_named(std::string_view name) {
  for (const Target& t : targets())
    if (t.name == name) return supported(t);
  throw UserError({}, "there is no target named '" + std::string(name) + "'",
                  "supported targets: " + supported_names());
}

const Target& target_for(int capability) {
  for (const Target& t : targets())
    if (t.capability == capability) return supported(t);
  throw UserError({},
                  "a device of compute capability " + std::to_string(capability / 10) + "." +
                      std::to_string(capability % 10) + " is not supported",
                  "supported targets: " + supported_names() + "; host views run on the CPU interpreter everywhere");
}

std::vector<TileCandidate> tile_candidates(int head_dim, int value_dim, const Target&) {
  // Q, and two stages of K and V, fit in shared memory; O, S and two operands P in the registers of the warpgroups:
  // three for narrow heads, whose exponentials are the bound, and for long rows of full tiles; else two, whose shorter
  // tiles fit masks better.
  const int width = std::max(head_dim, value_dim);
  if (width <= 64) return {{{128, 128}, 0.83, 1.08}, {{192, 96}, 0.79, 1.03}, {{192, 128}, 1.00, 1.30}};
  if (width <= 128) return {{{128, 128}, 1.00, 1.30}, {{192, 80}, 0.865, 1.12}};
  return {{{128, 64}}};
}

AttentionCosts attention_costs(int head_dim, int value_dim, const Target&) {
  // Fitted to the times of the standard suite, all rows at once, which tests/library/bench/plans_test.cpp holds them
  // against. A step's cycles grow with what its products contract and make; those before its first key do not.
  constexpr double kWideStep = 1257.0 / 256, kNarrowStep = 820, kStepStart = 156;
  AttentionCosts costs;
  costs.processors = 132, costs.launch_seconds = 3e-6, costs.bytes_per_second = 4.3e12;
  if (std::max(head_dim, value_dim) <= 64) {
    costs.step_start = kStepStart / kNarrowStep, costs.mask = 0.32, costs.row_start = 1.25;
    costs.rates = {{192, 597e12}, {128, 432e12}, {64, 398e12}};
  } else {
    costs.step_start = kStepStart / (kWideStep * (head_dim + value_dim)), costs.mask = 0.26, costs.row_start = 1.35;
    costs.rates = {{192, 830e12, 80}, {128, 769e12}, {64, 620e12}};
  }
  return costs;
}

}  // namespace tessera::backend
