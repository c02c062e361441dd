#include <tessera/library/bench/plans.h>

#include <algorithm>

#include <fmt/format.h>

#include <tessera/library/check_call.h>
#include <tessera/library/choose_tile.h>
#include <tessera/library/costs.h>

namespace tessera::bench {

namespace {

using json = nlohmann::ordered_json;

bool is_list_table(const library::ParameterSource& source) {
  const auto& names = passes::kListTables;
  return source.kind == library::ParameterSource::Kind::captured &&
         std::find(std::begin(names), std::end(names), source.name) != std::end(names);
}

const char* schedule_of(const PlanRow& row) { return row.list_bytes > 0 ? "list" : "spans"; }

std::string orders_of(const mask::Plan& plan) {
  std::string text;
  for (const mask::Pass& pass : plan.passes) {
    text += (text.empty() ? "Q" : " >> Q") + to_string(pass.queries);
    for (const mask::Source& source : pass.sources) text += " K" + to_string(source.keys);
  }
  return text;
}

}  // namespace

PlanRow plan_of(const Workload& workload) {
  const AttentionOptions options = library::resolve(workload.options(), SourceLoc::here());
  const backend::Target& target = backend::target_named("sm_90a");
  const library::TracedProgram program = library::trace_attention(options, false, false);
  const mask::TargetCosts costs = library::kernel_costs(options.head_dim, options.value_dim, target);
  library::PlanInput input;
  input.shapes = library::check_shapes(workload.shapes(), SourceLoc::here());
  input.tile = library::choose_tile({}, program, target);
  const auto planned = library::make_planned(program, input, &costs);
  PlanRow row{.workload = workload, .plan_ms = planned->plan_ms, .plan = planned->plan};
  for (const library::PlannedKernel& kernel : planned->kernels)
    for (const library::ParameterSource& source : kernel.sources)
      if (is_list_table(source))
        row.list_bytes += static_cast<std::int64_t>(sizeof(std::int32_t)) * source.table->size();
  row.predicted_ms =
      library::predicted_ms(planned->plan, library::request_of(input), options.head_dim, options.value_dim, target);
  return row;
}

std::string plans_text(const std::vector<PlanRow>& rows) {
  std::string text = fmt::format("{:<28}{:>9}{:>10}  {:<7}{:>9}{:>12}{:>14}  {}\n", "workload", "tokens", "plan, ms",
                                 "", "KiB", "tiles", "predicted, ms", "orders");
  for (const PlanRow& row : rows) {
    text += fmt::format("{:<28}{:>9}{:>10.2f}  {:<7}{:>9.1f}{:>12}{:>14.4f}  {}\n", row.workload.name,
                        row.workload.tokens, row.plan_ms, schedule_of(row), static_cast<double>(row.list_bytes) / 1024,
                        row.plan.counts().visited, row.predicted_ms, orders_of(row.plan));
  }
  return text;
}

json plans_json(const std::vector<PlanRow>& rows) {
  json all = json::array();
  for (const PlanRow& row : rows) {
    const mask::Counts counts = row.plan.counts();
    all.push_back({{"workload", row.workload.name},
                   {"tokens", row.workload.tokens},
                   {"plan_ms", row.plan_ms},
                   {"schedule", schedule_of(row)},
                   {"list_bytes", row.list_bytes},
                   {"orders", orders_of(row.plan)},
                   {"tiles", {{"visited", counts.visited}, {"full", counts.full}, {"partial", counts.partial}}},
                   {"predicted_ms", row.predicted_ms}});
  }
  return all;
}

}  // namespace tessera::bench
