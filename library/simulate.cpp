#include <tessera/library/simulate.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <tessera/library/costs.h>

namespace tessera::library {

namespace {

using json = nlohmann::ordered_json;

mask::PlanRequest plan_request(const SimulationRequest& request) {
  mask::PlanRequest r;
  r.query_length = request.shapes.query_length, r.key_length = request.shapes.key_length;
  r.heads = request.shapes.heads, r.batch = request.shapes.batch;
  return r;
}

double rounded(double x, double steps = 1e4) { return std::round(x * steps) / steps; }

double worst_of(const mask::RankedPlan& plan) {
  double worst = 0;
  for (const mask::RankedPass& pass : plan.passes)
    for (const mask::RankedSource& source : pass.sources) worst += source.tally.worst;
  return worst;
}

double padding_of(const mask::RankedPlan& plan) {
  double most = 0;
  for (const mask::RankedPass& pass : plan.passes) most = std::max(most, pass.padding);
  return most;
}

double balance_of(const mask::RankedPlan& plan) {
  double most = 0;
  for (const mask::RankedPass& pass : plan.passes) most = std::max(most, pass.balance);
  return most;
}

json pass_json(const mask::RankedPlan& plan, std::size_t p) {
  const mask::RankedPass& pass = plan.passes[p];
  json sources = json::array();
  for (std::size_t i = 0; i < pass.sources.size(); ++i) {
    const mask::Source& source = plan.plan.passes[p].sources[i];
    const mask::Tally& tally = pass.sources[i].tally;
    sources.push_back({{"key_order", to_string(source.keys)},
                       {"anchor", source.anchor == mask::Anchor::row ? "row" : "grid"},
                       {"part", source.part != nullptr},
                       {"tiles",
                        {{"mean", tally.query_tiles > 0 ? rounded(tally.visited / tally.query_tiles) : 0},
                         {"worst", tally.worst},
                         {"full", tally.visited > 0 ? rounded(tally.full / tally.visited) : 0}}}});
  }
  return {{"query_order", to_string(plan.plan.passes[p].queries)},
          {"rows", pass.rows},
          {"ms", rounded(pass.seconds * 1e3)},
          {"balance", rounded(pass.balance)},
          {"padding", rounded(pass.padding)},
          {"sources", sources}};
}

json plan_json(const mask::RankedPlan& plan) {
  json passes = json::array();
  for (std::size_t p = 0; p < plan.passes.size(); ++p) passes.push_back(pass_json(plan, p));
  return {{"plan", to_string(plan)},
          {"ms", rounded(plan.seconds * 1e3)},
          {"passes", passes},
          {"tile_bound", rounded(plan.tile_bound)},
          {"worst_bound", rounded(plan.worst_bound)},
          {"waste", rounded(plan.waste)},
          {"exact", plan.exact}};
}

json plans_json(const std::vector<mask::RankedPlan>& plans) {
  json all = json::array();
  for (const mask::RankedPlan& plan : plans) all.push_back(plan_json(plan));
  return all;
}

std::string table(const char* title, const std::vector<mask::RankedPlan>& plans) {
  std::size_t width = std::string(title).size();
  for (const mask::RankedPlan& plan : plans) width = std::max(width, to_string(plan).size());
  std::string text =
      fmt::format("\n{:<{}}  {:>9}  {:>8}  {:>6}  {:>5}  {:>8}  {:>8}  {:>7}  {:>7}  {:>6}\n", title, width, "ms",
                  "tiles", "worst", "full", "by tiles", "by worst", "padding", "balance", "waste");
  for (const mask::RankedPlan& plan : plans)
    text += fmt::format(
        "{:<{}}  {:>9.4f}  {:>8.1f}  {:>6.0f}  {:>4.0f}%  {:>7.2f}x  {:>7.2f}x  {:>7.2f}  {:>7.2f}  {:>6.2f}{}\n",
        to_string(plan), width, plan.seconds * 1e3, plan.tiles_a_query_tile(), worst_of(plan), 100 * plan.full_share(),
        plan.tile_bound, plan.worst_bound, padding_of(plan), balance_of(plan), plan.waste, plan.exact ? "" : "  ~");
  return text;
}

}  // namespace

Simulation simulate(const Mask& mask, const SimulationRequest& request) {
  const mask::PlanRequest r = plan_request(request);
  const mask::TargetCosts costs =
      target_costs(request.head_dim, request.value_dim, backend::target_named(request.target));
  Simulation result{request, {}, {}};
  if (request.queries || request.keys) {
    const mask::Order queries = request.queries.value_or(mask::Order::identity(128)),
                      keys = request.keys.value_or(mask::Order::identity(128));
    int rows = queries.tile();  // computed: the least that the device has and that holds them
    for (const mask::TargetCosts::Rate& rate : costs.rates)
      if (rate.query_rows >= queries.tile()) rows = rate.query_rows;
    result.plans.push_back(mask::rate_plan(mask.predicate(), r, costs, queries, rows, keys));
    return result;
  }
  result.plans = mask::rank_plans(mask.predicate(), r, costs);
  if (request.candidates > 0) result.candidates = mask::candidate_plans(mask.predicate(), r, costs, request.candidates);
  return result;
}

std::string to_text(const Simulation& s) {
  const AttentionShapes& shapes = s.request.shapes;
  const mask::RankedPlan& best = s.plans.front();
  std::string text = fmt::format("problem    batch {}, heads {}, {} queries x {} keys, d{}\n", shapes.batch,
                                 shapes.heads, shapes.query_length, shapes.key_length, s.request.head_dim);
  if (best.live_bound > 0)
    text += fmt::format("live       {:.2f} % of the pairs: {:.2f} x less work than dense attention\n",
                        100 / best.live_bound, best.live_bound);
  text += table("plans", s.plans);
  if (!s.candidates.empty()) text += table("candidates: one pass, one source", s.candidates);
  const auto sampled = [](const mask::RankedPlan& plan) { return !plan.exact; };
  if (std::any_of(s.plans.begin(), s.plans.end(), sampled) ||
      std::any_of(s.candidates.begin(), s.candidates.end(), sampled))
    text += "\n~ counted on a sample of the query tiles, or by the hulls of their keys\n";
  return text;
}

std::string to_json(const Simulation& s) {
  const AttentionShapes& shapes = s.request.shapes;
  const double bound = s.plans.front().live_bound;
  json result;
  result["shapes"] = {
      {"batch", shapes.batch},           {"heads", shapes.heads},          {"query_length", shapes.query_length},
      {"key_length", shapes.key_length}, {"head_dim", s.request.head_dim}, {"value_dim", s.request.value_dim}};
  result["live"] = bound > 0 ? rounded(1 / bound, 1e6) : 0;
  result["live_bound"] = rounded(bound);
  result["plans"] = plans_json(s.plans);
  result["candidates"] = plans_json(s.candidates);
  return result.dump(2);
}

}  // namespace tessera::library
