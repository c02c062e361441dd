#include <tessera/dsl/mask/choose_plan.h>

#include <algorithm>
#include <set>

#include <tessera/dsl/mask/lists.h>
#include <tessera/dsl/mask/order_spans.h>

namespace tessera::mask {

namespace {

constexpr double kWorthASearch = 10e-6;        // seconds that a plan takes: below it, launching is most of it
constexpr double kClearly = 0.93;              // of the time of the plain plan
constexpr int kQueryUnit = 64, kKeyUnit = 16;  // rows of a product, and what it contracts, are multiples of these

// With fewest digits, but not as a run of tokens that products cannot have.
Order plainest(const Order& order, int unit) {
  const Order simple = simplified(order);
  return simple.is_identity() && simple.tile() % unit != 0 ? order : simple;
}

// Two stages of K and V for each size of key tiles, and of Q, fit in shared memory.
bool fits(const Plan& plan, const TargetCosts& costs) {
  constexpr std::int64_t kStages = 2, kBytes = 2;
  if (costs.shared_bytes == 0) return true;
  const std::int64_t columns = (std::max(costs.depth, 64) + 63) / 64 * 64 + (std::max(costs.value, 64) + 63) / 64 * 64;
  for (const Pass& pass : plan.passes) {
    std::set<std::int64_t> sizes;
    for (const Source& source : pass.sources) sizes.insert(step_keys(source.keys.tile()));
    std::int64_t bytes = kStages * kBytes * ceil_div(pass.queries.tile(), kQueryUnit) * kQueryUnit * columns / 2;
    for (std::int64_t rows : sizes) bytes += kStages * kBytes * rows * columns;
    if (bytes > costs.shared_bytes) return false;
  }
  return true;
}

// The plan that was ranked, with schedules.
Plan scheduled(const RankedPlan& ranked, const Pointwise& predicate, const PlanRequest& request) {
  Plan plan = ranked.plan;
  for (Pass& pass : plan.passes) {
    pass.queries = plainest(pass.queries, kQueryUnit);
    for (Source& source : pass.sources) source.keys = plainest(source.keys, kKeyUnit);
  }
  if (is_plain(plan)) {
    PlanRequest resized = request;
    resized.query_tile = plan.passes[0].queries.tile();
    resized.key_tile = plan.passes[0].sources[0].keys.tile();
    return make_plan(predicate, resized);
  }
  const double heads = static_cast<double>(request.heads * request.batch);
  for (std::size_t i = 0; i < plan.passes.size(); ++i) {
    const double tiles = ranked.passes[i].sources[0].tally.visited * heads;
    const std::shared_ptr<const Pointwise>& part = plan.passes[i].sources[0].part;
    if (make_order_spans(plan.passes[i], part ? *part : predicate, request, tiles)) continue;
    make_lists(plan.passes[i], predicate, request);
    plan.reason = "in these token orders its key tiles are no box for each query tile";
  }
  return plan;
}

// Of a launch that leaves nothing out.
double dense_seconds(const PlanRequest& r, const TargetCosts& costs) {
  constexpr int kRows = 128;
  const Int query_tiles = ceil_div(r.query_length, kRows) * r.heads * r.batch;
  const double steps = static_cast<double>(r.key_length) / costs.key_rows;
  return static_cast<double>(query_tiles) * (steps * costs.step(kRows, costs.key_rows) + costs.row(kRows)) /
         costs.processors;
}

bool same_for_heads(const Pointwise& predicate, const PlanRequest& request) {
  if (request.heads * request.batch == 1) return true;
  Expressions e(predicate, request.scalars);
  return (e[e.body({}, false)].depends & (Expressions::on(at_head) | Expressions::on(at_batch))) == 0;
}

}  // namespace

bool is_plain(const Plan& plan) {
  const auto plain = [](const Pass& pass) {
    return pass.queries.is_identity() && pass.sources.size() == 1 && pass.sources[0].keys.is_identity();
  };
  return plan.passes.size() == 1 && plain(plan.passes[0]);
}

double seconds_of(const Plan& plan, const PlanRequest& request, const TargetCosts& costs) {
  double seconds = plan.passes.size() > 1 ? costs.chaining(request.query_length * request.heads * request.batch) : 0;
  for (const Pass& pass : plan.passes) {
    const int rows = static_cast<int>(ceil_div(pass.queries.tile(), kQueryUnit)) * kQueryUnit;
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
  check_request(predicate, request);
  if (dense_seconds(request, costs) < kWorthASearch || !suggests_orders(predicate, request))
    return make_plan(predicate, request);
  const std::vector<RankedPlan> ranked = rank_plans(predicate, request, costs, {.chained = true, .anchored = false});
  const auto first =
      std::find_if(ranked.begin(), ranked.end(), [&](const RankedPlan& p) { return fits(p.plan, costs); });
  if (first == ranked.end()) return make_plan(predicate, request);
  const RankedPlan& best = *first;
  const auto known = std::find_if(ranked.begin(), ranked.end(), [&](const RankedPlan& p) {
    return is_plain(p.plan) && p.plan.passes[0].queries.tile() == costs.rates.at(0).query_rows &&
           p.plan.passes[0].sources[0].keys.tile() == costs.key_rows;
  });
  const double plain = known == ranked.end() ? best.seconds : known->seconds;
  if (plain < kWorthASearch || best.seconds > kClearly * plain) return make_plan(predicate, request);
  Plan plan = scheduled(best, predicate, request);
  if (same_for_heads(predicate, request)) return plan;
  // What was ranked for head 0 of entry 0 has to hold for all of them.
  Plan other = make_plan(predicate, request);
  return seconds_of(plan, request, costs) < kClearly * seconds_of(other, request, costs) ? plan : other;
}

}  // namespace tessera::mask
