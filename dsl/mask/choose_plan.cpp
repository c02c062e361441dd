#include <tessera/dsl/mask/choose_plan.h>

#include <algorithm>

#include <tessera/dsl/mask/lists.h>

namespace tessera::mask {

namespace {

constexpr double kWorthASearch = 10e-6;  // seconds that a plan takes: below it, launching is most of it
constexpr double kClearly = 0.93;        // of the time of the plain plan
constexpr int kRowsOfAProduct = 64;

bool is_plain(const Plan& plan) {
  const auto plain = [](const Pass& pass) {
    return pass.queries.is_identity() && pass.sources.size() == 1 && pass.sources[0].keys.is_identity();
  };
  return plan.passes.size() == 1 && plain(plan.passes[0]);
}

// The plan that was ranked, with schedules.
Plan scheduled(const RankedPlan& ranked, const Pointwise& predicate, const PlanRequest& request) {
  if (is_plain(ranked.plan)) {
    PlanRequest resized = request;
    resized.query_tile = ranked.plan.passes[0].queries.tile();
    resized.key_tile = ranked.plan.passes[0].sources[0].keys.tile();
    return make_plan(predicate, resized);
  }
  Plan plan = ranked.plan;
  for (Pass& pass : plan.passes) make_lists(pass, predicate, request);
  plan.reason = "tiles of token orders are listed";
  return plan;
}

}  // namespace

double seconds_of(const Plan& plan, const PlanRequest& request, const TargetCosts& costs) {
  double seconds = 0;
  for (const Pass& pass : plan.passes) {
    const int rows = static_cast<int>(ceil_div(pass.queries.tile(), kRowsOfAProduct)) * kRowsOfAProduct;
    const Int query_tiles = TokenOrder(pass.queries, request.query_length).tiles() * request.heads * request.batch;
    double sum = static_cast<double>(query_tiles) * costs.row(rows);
    for (const Source& source : pass.sources) {
      const std::int64_t keys = step_keys(source.keys.tile());
      sum += static_cast<double>(source.counts.visited) * costs.step(rows, keys) +
             static_cast<double>(source.counts.partial) * costs.masking(rows, keys);
    }
    seconds += sum / costs.processors + costs.launch_seconds;
  }
  return seconds;
}

Plan choose_plan(const Pointwise& predicate, const PlanRequest& request, const TargetCosts& costs) {
  Plan plain = make_plan(predicate, request);
  const double seconds = seconds_of(plain, request, costs);
  if (seconds < kWorthASearch || !suggests_orders(predicate, request)) return plain;
  const std::vector<RankedPlan> ranked = rank_plans(predicate, request, costs, {.chained = false, .anchored = false});
  // What was ranked for head 0 of entry 0 has to hold for all of them.
  Plan best = scheduled(ranked.front(), predicate, request);
  return seconds_of(best, request, costs) < kClearly * seconds ? best : plain;
}

}  // namespace tessera::mask
