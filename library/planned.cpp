#include <tessera/library/planned.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/rewrite.h>
#include <tessera/dsl/passes/simplify.h>
#include <tessera/library/elapsed.h>
#include <tessera/library/forward.h>
#include <tessera/library/plan_maker.h>

namespace tessera::library {

namespace {

using Kind = ParameterSource::Kind;
using Clock = std::chrono::steady_clock;

Traced trace(const AttentionOptions& options, ForwardOptions forward_options, bool after = false) {
  if (*options.scale <= 0) forward_options.query_factor = *options.scale < 0 ? -1 : 0;
  const auto as = [&](const auto& program) {
    return options.dtype == DType::f16 ? program.template trace<f16>(options.mask, options.scores, forward_options)
                                       : program.template trace<bf16>(options.mask, options.scores, forward_options);
  };
  return after ? as(forward_after) : as(forward);
}

// The parameters of the forward programs, by the names of its argument struct.
Kind kind_named(const std::string& name) {
  constexpr std::pair<const char*, Kind> kinds[] = {{"q", Kind::q},
                                                    {"k", Kind::k},
                                                    {"v", Kind::v},
                                                    {"o", Kind::o},
                                                    {"lse", Kind::lse},
                                                    {"earlier_o", Kind::earlier_o},
                                                    {"earlier_lse", Kind::earlier_lse},
                                                    {"scale", Kind::scale},
                                                    {"key_lengths", Kind::key_lengths}};
  for (const auto& [text, kind] : kinds) {
    if (name == text) return kind;
  }
  throw InternalError("the forward program has a parameter '" + name + "' that no call gives");
}

ParameterSource captured_source(const ir::Param& param, const mask::Capture& capture) {
  if (param.kind == ir::ParamKind::scalar) return {Kind::named_scalar, param.name, nullptr, capture.value};
  if (!capture.table) return {Kind::named_table, param.name, nullptr};
  return {Kind::captured, param.name, capture.table};
}

// Zero, which is never read, where there are no values: a table has an address.
std::shared_ptr<const mask::TableData> as_table(std::vector<std::int32_t> values) {
  if (values.empty()) values.assign(1, 0);
  const auto size = static_cast<std::int64_t>(values.size());
  return mask::TableData::make(std::move(values), {size});
}

// The same in rows, also of one column.
std::shared_ptr<const mask::TableData> as_rows(std::vector<std::int32_t> values, std::int64_t columns) {
  if (values.empty()) values.assign(static_cast<std::size_t>(columns), 0);
  const std::int64_t rows = static_cast<std::int64_t>(values.size()) / columns;
  return mask::TableData::make(std::move(values), {rows, columns});
}

std::vector<mask::TileList*> lists_of(mask::Plan& plan) {
  std::vector<mask::TileList*> lists;
  for (mask::Pass& pass : plan.passes) {
    for (mask::Source& source : pass.sources) {
      if (auto* list = std::get_if<mask::TileList>(&source.schedule)) lists.push_back(list);
    }
  }
  return lists;
}

// Sources in the order in which tile_by_mask leaves the parameters: the program's, those of its functions, the plan's
// lists, whose arrays they take.
std::vector<ParameterSource> list_sources(const Traced& traced, bool attention, mask::Plan& plan, std::int64_t heads) {
  std::vector<ParameterSource> sources;
  for (const ir::Param& param : traced.kernel.params) {
    Kind kind = attention ? kind_named(param.name) : Kind::argument;
    auto index = static_cast<int>(sources.size());
    sources.push_back({.kind = kind, .name = param.name, .table = nullptr, .index = index});
  }
  for (const mask::Pointwise& function : traced.functions) {
    for (std::size_t i = 0; i < function.captures.size(); ++i) {
      sources.push_back(captured_source(function.function.params[i], function.captures[i]));
    }
  }
  for (mask::TileList* list : lists_of(plan)) {
    const bool has_classes = !list->class_of.empty();
    sources.push_back(
        {Kind::captured, passes::kListTables[0], as_rows(std::move(list->rows), mask::TileList::kFields)});
    sources.push_back({Kind::captured, passes::kListTables[1], as_table(std::move(list->tiles))});
    if (has_classes)
      sources.push_back({Kind::captured, passes::kListTables[2],
                         as_rows(std::move(list->class_of), std::max<std::int64_t>(heads, 1))});
    *list = {};
  }
  return sources;
}

void check_sources(const ir::Kernel& tiled, const std::vector<ParameterSource>& sources) {
  bool same = tiled.params.size() == sources.size();
  for (std::size_t i = 0; same && i < sources.size(); ++i) {
    bool table = sources[i].kind == Kind::captured || sources[i].kind == Kind::named_table;
    bool scalar = sources[i].kind == Kind::named_scalar;
    same = (!table || tiled.params[i].kind == ir::ParamKind::table) &&
           (!scalar || tiled.params[i].kind == ir::ParamKind::scalar);
  }
  if (!same)
    throw InternalError("the tiled kernel's parameters are not those of the program, its functions and its plan",
                        print(tiled));
}

// With key lengths that only the device knows, any tile may turn out to reach past a sequence's end.
void make_all_partial(mask::Plan& plan) {
  for (mask::TileList* list : lists_of(plan)) {
    for (std::size_t row = 0; row < list->rows.size(); row += mask::TileList::kFields) {
      list->rows[row + 1] += list->rows[row + 2];
      list->rows[row + 2] = 0;
    }
  }
  for (mask::Pass& pass : plan.passes) {
    for (mask::Source& source : pass.sources) {
      if (!std::holds_alternative<mask::TileList>(source.schedule)) continue;
      source.counts.partial += source.counts.full;
      source.counts.full = 0;
    }
  }
}

mask::Plan plan_of(const TracedProgram& program, const PlanInput& input, const mask::TargetCosts* costs) {
  const mask::PlanRequest request = request_of(input);
  if (program.plan_maker) return program.plan_maker->make(*program.mask, request);
  return costs ? mask::choose_plan(*program.mask, request, *costs) : mask::make_plan(*program.mask, request);
}

Traced simplified(Traced traced) {
  traced.kernel = passes::simplify(traced.kernel);
  return traced;
}

// The kernel of the plan's one pass, or of a program without a mask. The plan's lists are emptied.
PlannedKernel kernel_of(const Traced& traced, const TracedProgram& program, mask::Plan* plan, std::int64_t heads) {
  PlannedKernel kernel;
  kernel.tiled = passes::simplify(passes::tile_by_mask(traced.kernel, plan, program.tiling));
  kernel.text = ir::print(kernel.tiled);
  mask::Plan none;
  kernel.sources = list_sources(traced, program.attention, plan ? *plan : none, heads);
  check_sources(kernel.tiled, kernel.sources);
  return kernel;
}

std::vector<PlannedKernel> kernels_of(const TracedProgram& program, mask::Plan& plan, std::int64_t heads) {
  std::vector<PlannedKernel> kernels;
  if (!program.mask) kernels.push_back(kernel_of(program.traced, program, nullptr, heads));
  const bool chain = plan.passes.size() > 1;
  ensure(!chain || (plan.passes.size() == 2 && program.chained),
         "chains are of two passes, of programs that have them");
  for (std::size_t i = 0; i < plan.passes.size(); ++i) {
    mask::Plan one;
    one.passes.push_back(std::move(plan.passes[i]));
    kernels.push_back(chain ? kernel_of(simplified(program.chained(static_cast<int>(i))), program, &one, heads)
                            : kernel_of(program.traced, program, &one, heads));
    plan.passes[i] = std::move(one.passes[0]);
  }
  return kernels;
}

}  // namespace

mask::PlanRequest request_of(const PlanInput& input) {
  mask::PlanRequest request;
  request.query_length = input.shapes.query_length;
  request.key_length = input.shapes.key_length;
  request.heads = input.shapes.heads;
  request.batch = input.shapes.batch;
  request.query_tile = input.tile.query;
  request.key_tile = input.tile.key;
  request.scalars = input.scalars;
  request.key_lengths = input.key_lengths;
  bool unknown = input.shapes.key_lengths && input.key_lengths.empty();
  if (unknown) request.key_lengths.assign(static_cast<std::size_t>(input.shapes.batch), input.shapes.key_length);
  return request;
}

TracedProgram plannable(Traced traced, passes::Tiling tiling) {
  TracedProgram result;
  result.traced = simplified(std::move(traced));
  result.tiling = std::move(tiling);
  int function = -1;
  ir::walk(result.traced.kernel.entry, [&](const ir::Op& op) {
    if (op.code != ir::OpCode::over) return;
    result.bounded = result.bounded || op.operands.size() > op.results.size();
    if (op.index < 0) return;
    if (function >= 0 && function != op.index) {
      throw UserError(op.loc, "kernel '" + result.traced.kernel.name + "' has loops with different masks",
                      "give its loops one mask, or write a kernel for each");
    }
    function = op.index;
  });
  if (function >= 0) result.mask = &result.traced.functions[static_cast<std::size_t>(function)];
  return result;
}

TracedProgram trace_attention(const AttentionOptions& options, bool lse, bool bounded) {
  auto start = Clock::now();
  passes::Tiling tiling;
  tiling.whole = {{ir::Axis::named("Depth"), options.head_dim}, {ir::Axis::named("Value"), options.value_dim}};
  TracedProgram result = plannable(trace(options, {.lse = lse, .key_lengths = bounded}), std::move(tiling));
  result.chained = [options, lse, bounded](int pass) {
    const bool first = pass == 0;
    return trace(options, {.lse = first || lse, .key_lengths = bounded}, !first);
  };
  result.plan_maker = options.plan_maker;
  result.attention = true;
  result.ms = ms_since(start);
  return result;
}

bool same_scalars(const std::vector<mask::NamedScalar>& a, const std::vector<mask::NamedScalar>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const mask::NamedScalar& x, const mask::NamedScalar& y) {
    return x.name == y.name && x.value == y.value;
  });
}

bool operator==(const PlanInput& a, const PlanInput& b) {
  return a.shapes == b.shapes && a.tile.query == b.tile.query && a.tile.key == b.tile.key &&
         a.key_lengths == b.key_lengths && same_scalars(a.scalars, b.scalars);
}

const PlannedKernel& Planned::only() const {
  ensure(kernels.size() == 1, "a plan of one kernel");
  return kernels[0];
}

bool Planned::serves_scalars(const std::vector<mask::NamedScalar>& scalars) const {
  if (same_scalars(scalars, input.scalars)) return true;
  if (list) return false;
  const auto small = [&](const mask::NamedScalar& scalar) { return std::fabs(scalar.value) <= room; };
  if (!mask || std::all_of(scalars.begin(), scalars.end(), small)) return true;
  PlanInput call = input;
  call.scalars = scalars;
  return mask::spans_hold(*mask, request_of(call));
}

bool Planned::serves(const PlanInput& call) const {
  return call.shapes == input.shapes && (!list || call.key_lengths == input.key_lengths) &&
         serves_scalars(call.scalars);
}

std::shared_ptr<const Planned> make_planned(const TracedProgram& program, PlanInput input,
                                            const mask::TargetCosts* costs) {
  auto start = Clock::now();
  auto planned = std::make_shared<Planned>();
  mask::Plan& plan = planned->plan;
  if (program.mask) plan = plan_of(program, input, costs);
  planned->list = program.plan_maker || !lists_of(plan).empty();
  if (program.mask && !planned->list) {
    const mask::Pass& pass = plan.passes.at(0);
    input.tile = {pass.queries.tile(), pass.sources.at(0).keys.tile()};
    PlanInput defaults = input;
    defaults.scalars.clear();
    planned->mask = *program.mask;
    // Spans in token orders are of masks without scalars.
    planned->room = mask::is_plain(plan) ? mask::scalar_room(*program.mask, request_of(defaults))
                                         : std::numeric_limits<double>::infinity();
  }
  if (planned->list && program.bounded && input.key_lengths.empty()) make_all_partial(plan);
  planned->kernels = kernels_of(program, plan, input.shapes.heads);
  planned->input = std::move(input);
  planned->trace_ms = program.ms;
  planned->plan_ms = ms_since(start);
  return planned;
}

}  // namespace tessera::library
