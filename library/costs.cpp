#include <tessera/library/costs.h>

namespace tessera::library {

namespace {

constexpr int kStepKeys = 128;

mask::TargetCosts costs_with(int head_dim, int value_dim, const backend::Target& target, bool short_key_tiles) {
  const backend::AttentionCosts measured = backend::attention_costs(head_dim, value_dim, target);
  mask::TargetCosts costs;
  for (const backend::AttentionCosts::Rate& rate : measured.rates)
    if (short_key_tiles || rate.key_rows >= kStepKeys) costs.rates.push_back({rate.query_rows, rate.operations});
  costs.depth = head_dim, costs.value = value_dim;
  costs.processors = measured.processors;
  costs.step_start = measured.step_start;
  costs.mask = measured.mask;
  costs.row_start = measured.row_start;
  costs.launch_seconds = measured.launch_seconds;
  costs.bytes_per_second = measured.bytes_per_second;
  return costs;
}

}  // namespace

mask::TargetCosts target_costs(int head_dim, int value_dim, const backend::Target& target) {
  return costs_with(head_dim, value_dim, target, false);
}

mask::TargetCosts kernel_costs(int head_dim, int value_dim, const backend::Target& target) {
  mask::TargetCosts costs = target_costs(head_dim, value_dim, target);
  const backend::TileShape most = backend::tile_candidates(head_dim, value_dim, target).at(0).tile;
  std::erase_if(costs.rates, [&](const mask::TargetCosts::Rate& rate) { return rate.query_rows > most.query; });
  costs.key_rows = most.key;
  constexpr std::int64_t kBarriers = 1024;  // and what else is no tile
  costs.shared_bytes = target.shared_bytes - kBarriers;
  return costs;
}

double predicted_ms(const mask::Plan& plan, const mask::PlanRequest& request, int head_dim, int value_dim,
                    const backend::Target& target) {
  return 1e3 * mask::seconds_of(plan, request, costs_with(head_dim, value_dim, target, true));
}

}  // namespace tessera::library
