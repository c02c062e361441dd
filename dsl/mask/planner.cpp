#include <tessera/dsl/mask/planner.h>

#include <fmt/format.h>

#include <tessera/dsl/mask/lists.h>
#include <tessera/dsl/mask/spans.h>
#include <tessera/dsl/mask/work_order.h>

namespace tessera::mask {

using ir::OpCode;
using Id = Expressions::Id;

namespace {

void check_lengths(const Pointwise& predicate, const PlanRequest& r) {
  for (const auto& [name, length] : {std::pair{"query", r.query_length}, {"key", r.key_length}})
    if (length < 0 || length > kMaxIndex)
      throw UserError(predicate.loc, fmt::format("the {} length is {}", name, length),
                      fmt::format("lengths are from 0 to {}", kMaxIndex));
  ensure(r.query_tile > 0 && r.key_tile > 0 && r.heads >= 0 && r.batch >= 0, "a plan request has positive tiles");
  if (!r.key_lengths.empty() && static_cast<std::int64_t>(r.key_lengths.size()) != r.batch)
    throw UserError(predicate.loc,
                    fmt::format("there are {} key lengths for a batch of {}", r.key_lengths.size(), r.batch),
                    "give one a batch entry");
  for (std::size_t b = 0; b < r.key_lengths.size(); ++b)
    if (r.key_lengths[b] < 0 || r.key_lengths[b] > r.key_length)
      throw UserError(predicate.loc,
                      fmt::format("key length {} of batch entry {} is not within the key axis of {}", r.key_lengths[b],
                                  b, r.key_length),
                      fmt::format("give lengths from 0 to {}", r.key_length));
}

// A table read at a position itself, doc[q], must reach to the end of that axis. Computed indices are the user's care:
// reads beyond the ends give the nearest element.
void check_tables(const Pointwise& predicate, const PlanRequest& r) {
  Expressions e(predicate, r.scalars);
  e.body({}, true);
  const std::int64_t extents[] = {r.query_length, r.key_length, r.heads, r.batch};
  static constexpr const char* kExtents[] = {"the query length is", "the key length is", "the number of heads is",
                                             "the batch is"};
  for (Id id = 0; id < e.size(); ++id) {
    const Expressions::Node& n = e[id];
    if (n.op != OpCode::gather || !e.table(n.index)) continue;
    const std::vector<std::int64_t>& shape = e.table(n.index)->shape();
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const Expressions::Node& at = e[n.in[d]];
      if (at.op != OpCode::position || at.index > at_batch || shape[d] >= extents[at.index]) continue;
      throw UserError(predicate.loc,
                      fmt::format("table '{}' has {} entries{}, but {} reads it to the end and {} {}",
                                  predicate.function.params[n.index].name, shape[d],
                                  shape.size() > 1 ? fmt::format(" along dimension {}", d) : "", e.describe(id),
                                  kExtents[at.index], extents[at.index]),
                      fmt::format("make the table at least {} long", extents[at.index]));
    }
  }
}

PositionRanges ranges_of(const PlanRequest& r) {
  PositionRanges ranges{};
  const auto up_to = [](Int n) { return Range{0, static_cast<double>(std::max<Int>(n, 1) - 1)}; };
  ranges[at_q] = ranges[at_first] = ranges[at_last] = up_to(r.query_length);
  ranges[at_k] = up_to(r.key_length);
  ranges[at_head] = up_to(r.heads), ranges[at_batch] = up_to(r.batch);
  ranges[at_query_length] = {0, static_cast<double>(r.query_length)};
  ranges[at_key_length] = ranges[at_key_bound] = {0, static_cast<double>(r.key_length)};
  return ranges;
}

// Closed forms are rearranged sums: they hold while no intermediate value of predicate or bounds leaves i32.
bool may_wrap(const Expressions& e, const PlanRequest& r) { return e.may_wrap(ranges_of(r)); }

// The closed form of each run of keys, beside the values that it is made of; empty where there is none.
std::vector<SpanBounds> spans_of(Expressions& e, const PlanRequest& r) {
  std::string reason;
  return derive_spans(e, e.body({}, false), r.key_tile, !r.key_lengths.empty(), reason);
}

// Tiles of the closed form, by evaluating it for every query tile; once if heads and batch do not matter.
Counts count_spans(Expressions& e, const std::vector<SpanBounds>& spans, bool bounded, const PlanRequest& r) {
  std::vector<Id> roots;
  unsigned depends = 0;
  for (const SpanBounds& s : spans)
    for (Id id : {s.begin, s.full_begin, s.full_end, s.end}) roots.push_back(id), depends |= e[id].depends;
  const bool by_head = depends & Expressions::on(at_head), by_batch = bounded || (depends & Expressions::on(at_batch));
  const std::int64_t heads = by_head ? r.heads : 1, batch = by_batch ? r.batch : 1;
  const Int weight = (by_head ? 1 : r.heads) * (by_batch ? 1 : r.batch);
  const Int query_tiles = ceil_div(r.query_length, r.query_tile);
  Counts counts;
  counts.total = query_tiles * ceil_div(r.key_length, r.key_tile) * r.heads * r.batch;
  PointProgram program(e, roots);
  std::vector<double> at(roots.size());
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t h = 0; h < heads; ++h)
      for (Int t = 0; t < query_tiles; ++t) {
        const Int first = t * r.query_tile, last = std::min(first + r.query_tile, r.query_length) - 1;
        program.run({0, 0, h, b, r.query_length, r.key_length, first, last, key_bound(r, b)}, at.data());
        for (std::size_t s = 0; s < spans.size(); ++s) {
          const Int visited = weight * static_cast<Int>(at[4 * s + 3] - at[4 * s]);
          counts.visited += visited;
          if (2 * t >= query_tiles) counts.later += visited;
          counts.full += weight * static_cast<Int>(at[4 * s + 2] - at[4 * s + 1]);
        }
      }
  counts.partial = counts.visited - counts.full;
  return counts;
}

// As many queries as keys, and enough of both that a mask shows how its work is spread.
PlanRequest typical(const PlanRequest& request) {
  constexpr std::int64_t kTiles = 64;
  PlanRequest r;
  r.query_length = r.key_length = kTiles * std::max(request.query_tile, request.key_tile);
  r.query_tile = request.query_tile, r.key_tile = request.key_tile;
  r.scalars = request.scalars;
  if (!request.key_lengths.empty()) r.key_lengths = {r.key_length};
  return r;
}

}  // namespace

std::int64_t key_bound(const PlanRequest& r, std::int64_t batch) {
  return r.key_lengths.empty() ? r.key_length : r.key_lengths[static_cast<std::size_t>(batch)];
}

PositionValues bound_positions(const PlanRequest& r, std::int64_t batch, std::int64_t head) {
  PositionValues v{};
  v[at_head] = head, v[at_batch] = batch, v[at_query_length] = r.query_length, v[at_key_length] = r.key_length;
  return v;
}

Counts Plan::counts() const {
  Counts sum;
  for (const Pass& pass : passes)
    for (const Source& source : pass.sources) {
      sum.total = std::max(sum.total, source.counts.total);
      sum.visited += source.counts.visited;
      sum.full += source.counts.full;
      sum.partial += source.counts.partial;
      sum.later += source.counts.later;
    }
  return sum;
}

void check_request(const Pointwise& predicate, const PlanRequest& request) {
  check_lengths(predicate, request);
  check_tables(predicate, request);
}

Plan make_plan(const Pointwise& predicate, const PlanRequest& request) {
  check_request(predicate, request);
  Plan plan;
  Pass pass{Order::identity(request.query_tile), {}};
  Source source{Order::identity(request.key_tile), TileList{}, {}};
  if (request.allow_spans) {
    const bool bounded = !request.key_lengths.empty();
    Expressions e(predicate, request.scalars);
    const std::vector<SpanBounds> spans = derive_spans(e, e.body({}, false), request.key_tile, bounded, plan.reason);
    if (!spans.empty() && may_wrap(e, request)) {
      plan.reason = "at these lengths some value of the predicate may pass the range of i32";
    } else if (!spans.empty()) {
      source.schedule = emit_spans(e, spans, bounded);
      source.counts = count_spans(e, spans, bounded, request);
      pass.order = work_order(count_spans(e, spans, bounded, typical(request)));
    }
  } else {
    plan.reason = "a list was asked for";
  }
  pass.sources.push_back(std::move(source));
  if (std::holds_alternative<TileList>(pass.sources[0].schedule)) make_lists(pass, predicate, request);
  plan.passes.push_back(std::move(pass));
  return plan;
}

bool spans_hold(const Pointwise& predicate, const PlanRequest& request) {
  Expressions e(predicate, request.scalars);
  return !spans_of(e, request).empty() && !may_wrap(e, request);
}

double scalar_room(const Pointwise& predicate, const PlanRequest& request) {
  Expressions e(predicate, request.scalars);
  if (spans_of(e, request).empty()) return -1;
  for (double size : {0x1p28, 0x1p24, 0x1p20, 0x1p16}) {
    if (!e.may_wrap(ranges_of(request), size)) return size;
  }
  return -1;
}

Plan replan(const Plan& plan, const Pointwise& predicate, const PlanRequest& request) {
  check_supported(plan);
  const Source& before = plan.passes[0].sources[0];
  ensure(plan.passes[0].sources.size() == 1 && plan.passes[0].queries.is_identity() && before.keys.is_identity(),
         "plans that are made again are those of make_plan");
  PlanRequest same = request;
  same.query_tile = plan.passes[0].queries.tile();
  same.key_tile = before.keys.tile();
  const Spans* spans = std::get_if<Spans>(&before.schedule);
  same.allow_spans = spans != nullptr;
  if (spans && spans->bounded != !request.key_lengths.empty())
    throw UserError(predicate.loc,
                    spans->bounded ? "the plan is for programs that bound their keys, and no key lengths are given"
                                   : "the plan is for programs without key lengths, and some are given",
                    "make a plan with key_lengths as the program uses them");
  Plan now = make_plan(predicate, same);
  if (spans && std::holds_alternative<TileList>(now.passes[0].sources[0].schedule))
    throw UserError(
        predicate.loc,
        fmt::format("{}: query length {}, key length {}", now.reason, request.query_length, request.key_length),
        "use a mask with smaller constants or scalars, or plan for these lengths");
  if (!spans) now.reason = plan.reason;
  return now;
}

}  // namespace tessera::mask
