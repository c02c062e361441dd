#include <tessera/dsl/passes/tile_by_mask_internal.h>

namespace tessera::passes::detail {

using ir::Builder;
using ir::Value;

namespace {

Schedule by_spans(const mask::Spans& spans, const ScheduleRequest& r, Builder& into) {
  ensure(spans.bounded == r.has_bound, "a plan for programs with key lengths has spans that end at them");
  const Value queries = into.length(r.query);
  const Value first = named(into, into.mul(into.program_id(r.query), r.query_tile), "first");
  const Value last = named(into, into.add(into.min(into.add(first, r.query_tile), queries), -1), "last");
  const Value args[] = {first, last, r.head, r.batch, queries, into.length(r.key), r.bound};
  const std::vector<Value> at = ir::inline_results(spans.bounds, args, r.function_params, into);
  Schedule s;
  for (int i = 0; i < spans.count; ++i) {
    const Value begin = at[4 * i], full_begin = at[4 * i + 1], full_end = at[4 * i + 2], end = at[4 * i + 3];
    if (!(begin == full_begin)) s.partial.push_back({begin, full_begin});
    if (!(full_end == end)) s.partial.push_back({full_end, end});
    if (!(full_begin == full_end)) s.full.push_back({full_begin, full_end});
  }
  return s;
}

Schedule by_list(const mask::TileList& list, const ScheduleRequest& r, Builder& into) {
  const int rows = r.list_params, ids = rows + 1, classes = rows + 2;
  Value row = into.program_id(r.query);
  if (!list.class_of.empty()) {
    const Value at[] = {r.batch, r.head};
    const Value tiles = into.div(into.add(into.length(r.query), r.query_tile - 1), r.query_tile);
    row = into.add(into.mul(into.gather(classes, DType::i32, at), tiles), row);
  }
  const auto field = [&](int column) {
    const Value at[] = {row, into.constant(column)};
    return into.gather(rows, DType::i32, at);
  };
  Schedule s;
  s.ids = ids;
  s.first_partial = named(into, field(0), "entry");
  s.partials = named(into, field(1), "partials");
  s.fulls = named(into, field(2), "fulls");
  s.first_full = into.add(s.first_partial, s.partials);
  return s;
}

}  // namespace

Value named(Builder& b, Value v, const char* name) {
  std::string& own = b.graph().values[v.id].name;
  if (own.empty() && !b.constant_of(v)) own = name;
  return v;
}

Schedule schedule(const mask::Source& source, const ScheduleRequest& request, Builder& into) {
  if (const auto* spans = std::get_if<mask::Spans>(&source.schedule)) return by_spans(*spans, request, into);
  return by_list(std::get<mask::TileList>(source.schedule), request, into);
}

// Every tile up to the bound: in one loop whose tiles may pass it, or the whole tiles apart.
Schedule schedule_all(int tile, Value bound, bool one_loop, Builder& into) {
  const Value zero = into.constant(0), end = into.div(into.add(bound, tile - 1), tile);
  if (one_loop) return {.partial = {{zero, end}}, .full = {}};
  const Value whole = into.div(bound, tile);
  return {.partial = {{whole, end}}, .full = {{zero, whole}}};
}

}  // namespace tessera::passes::detail
