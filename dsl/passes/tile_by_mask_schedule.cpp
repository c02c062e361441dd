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

ProgramTiles::ProgramTiles(const ir::Kernel& traced, const mask::TileList& list, int params, int query_tile)
    : list_(&list), params_(params), query_tile_(query_tile), query_(ir::query_axis(traced)) {
  for (ir::Axis axis : traced.grid) {
    if (axis == ir::Axis::named("Head")) head_ = axis;
    if (axis == ir::Axis::named("Batch")) batch_ = axis;
  }
}

Value ProgramTiles::tile(ir::Axis grid_axis, Builder& b) const {
  if (!list_ || grid_axis != query_) return b.program_id(grid_axis);
  return named(b, row(b).field(3, b), "query_tile");
}

ListRow ProgramTiles::row(Builder& b) const {
  Value row = b.program_id(query_);
  if (!list_->class_of.empty()) {
    const auto index = [&](ir::Axis axis) { return axis ? b.program_id(axis) : b.constant(0); };
    const Value at[] = {index(batch_), index(head_)};
    const Value tiles = b.div(b.add(b.length(query_), query_tile_ - 1), query_tile_);
    row = b.add(b.mul(b.gather(params_ + 2, DType::i32, at), tiles), row);
  }
  return {params_, row};
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
