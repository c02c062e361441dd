#include <tessera/dsl/passes/tile_by_mask_internal.h>

namespace tessera::passes::detail {

using ir::Builder;
using ir::Value;

namespace {

Schedule by_spans(const mask::Spans& spans, const ScheduleRequest& r, Builder& into) {
  ensure(spans.bounded == r.has_bound, "a plan for programs with key lengths has spans that end at them");
  const Value queries = into.length(r.query);
  const Value last = named(into, into.add(into.min(into.add(r.first, r.query_tile), queries), -1), "last");
  const Value args[] = {r.first, last, r.head, r.batch, queries, into.length(r.key), r.bound};
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

Schedule by_list(const ListRow& row, Builder& into) {
  Schedule s;
  s.ids = row.params + 1;
  s.first_partial = named(into, row.field(0, into), "entry");
  s.partials = named(into, row.field(1, into), "partials");
  s.fulls = named(into, row.field(2, into), "fulls");
  s.first_full = into.add(s.first_partial, s.partials);
  return s;
}

}  // namespace

ListRow list_row(const mask::TileList& list, int params, ir::Axis query, int query_tile, Value head, Value batch,
                 Builder& into) {
  Value row = into.program_id(query);
  if (!list.class_of.empty()) {
    const Value at[] = {batch, head};
    const Value tiles = into.div(into.add(into.length(query), query_tile - 1), query_tile);
    row = into.add(into.mul(into.gather(params + 2, DType::i32, at), tiles), row);
  }
  return {params, row};
}

Value ListRow::field(int column, Builder& into) const {
  const Value at[] = {row, into.constant(column)};
  return into.gather(params, DType::i32, at);
}

Value named(Builder& b, Value v, const char* name) {
  std::string& own = b.graph().values[v.id].name;
  if (own.empty() && !b.constant_of(v)) own = name;
  return v;
}

Schedule schedule(const mask::Source& source, const ScheduleRequest& request, Builder& into) {
  if (const auto* spans = std::get_if<mask::Spans>(&source.schedule)) return by_spans(*spans, request, into);
  return by_list(request.row, into);
}

// Every tile up to the bound: in one loop whose tiles may pass it, or the whole tiles apart.
Schedule schedule_all(int tile, Value bound, bool one_loop, Builder& into) {
  const Value zero = into.constant(0), end = into.div(into.add(bound, tile - 1), tile);
  if (one_loop) return {.partial = {{zero, end}}, .full = {}};
  const Value whole = into.div(bound, tile);
  return {.partial = {{whole, end}}, .full = {{zero, whole}}};
}

}  // namespace tessera::passes::detail
