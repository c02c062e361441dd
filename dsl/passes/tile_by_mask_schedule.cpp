#include <tessera/dsl/passes/tile_by_mask_internal.h>

namespace tessera::passes::detail {

using ir::Builder;
using ir::OpCode;
using ir::Value;

namespace {

// First and last value of each digit of the query order in this program's tile.
void query_bounds(const ScheduleRequest& r, Value queries, std::vector<Value>& args, Builder& into) {
  if (r.queries.is_identity()) {
    const Value past = into.min(into.add(r.tile.at, r.queries.tile()), queries);
    args.insert(args.end(), {r.tile.at, named(into, into.add(past, -1), "last")});
    return;
  }
  for (std::size_t i = 0; i < r.queries.digits.size(); ++i) {
    const ir::OrderDigit& digit = r.queries.digits[i];
    const auto weight = static_cast<int>(digit.weight);
    const Value values = i == 0 ? into.div(into.add(queries, weight - 1), weight)
                                : into.constant(static_cast<int>(r.queries.values(i, 0)));
    const bool clipped = i == 0 || digit.origin != 0 || r.queries.values(i, 0) % digit.tile != 0;
    const Value at = r.tile.firsts.at(i);
    const Value past = into.add(at, digit.tile);
    args.push_back(named(into, digit.origin ? into.max(at, into.constant(0)) : at, "first"));
    args.push_back(named(into, into.add(clipped ? into.min(past, values) : past, -1), "last"));
  }
}

// The tiles of a span that need the predicate: those outside of its full box, cut along the digits one after the other.
void add_partial(const Run& all, const Run& full, std::vector<Run>& partial) {
  Run rest = all;
  for (std::size_t i = 0; i < all.from.size(); ++i) {
    for (const auto& [from, to] : {std::pair{all.from[i], full.from[i]}, {full.to[i], all.to[i]}}) {
      if (from == to) continue;
      rest.from[i] = from, rest.to[i] = to;
      partial.push_back(rest);
    }
    rest.from[i] = full.from[i], rest.to[i] = full.to[i];
  }
}

Schedule by_spans(const mask::Spans& spans, std::size_t digits, const ScheduleRequest& r, Builder& into) {
  ensure(spans.bounded == r.has_bound, "a plan for programs with key lengths has spans that end at them");
  const Value queries = into.length(r.query);
  std::vector<Value> args;
  query_bounds(r, queries, args, into);
  args.insert(args.end(), {r.head, r.batch, queries, into.length(r.key), r.bound});
  const std::vector<Value> at = ir::inline_results(spans.bounds, args, r.function_params, into);
  ensure(at.size() == 4 * digits * static_cast<std::size_t>(spans.count),
         "spans have four bounds for each digit of the key order");
  Schedule s;
  for (std::size_t i = 0; i < at.size(); i += 4 * digits) {
    Run all, full;
    bool none_full = false;
    for (std::size_t j = i; j < i + 4 * digits; j += 4) {
      all.from.push_back(at[j]), full.from.push_back(at[j + 1]);
      full.to.push_back(at[j + 2]), all.to.push_back(at[j + 3]);
      none_full |= at[j + 1] == at[j + 2];
    }
    if (none_full && digits > 1)
      s.partial.push_back(all);
    else
      add_partial(all, full, s.partial);
    if (!none_full) s.full.push_back(full);
  }
  return s;
}

// A list without partial tiles, as of blocks as large as tiles, has no loop over them, whose predicate would take
// registers of the other. One without full tiles has both loops: lists that differ by lengths are mostly one kernel.
Schedule by_list(const mask::TileList& list, const ListRow& row, Builder& into) {
  bool partial = false;
  for (std::size_t r = 0; r < list.rows.size() / mask::TileList::kFields; ++r) partial |= list.row(r).partials > 0;
  Schedule s;
  s.ids = row.params + 1;
  s.first_partial = s.first_full = named(into, row.field(0, into), "entry");
  s.fulls = named(into, row.field(2, into), "fulls");
  if (!partial) return s;
  s.partials = named(into, row.field(1, into), "partials");
  s.first_full = into.add(s.first_partial, s.partials);
  return s;
}

}  // namespace

ProgramTiles::ProgramTiles(const ir::Kernel& traced, const mask::Pass& pass, std::span<const int> list_params)
    : pass_(&pass), query_(ir::query_axis(traced)) {
  for (std::size_t i = 0; i < list_params.size() && !list_; ++i)
    if (list_params[i] >= 0) list_ = &std::get<mask::TileList>(pass.sources[i].schedule), params_ = list_params[i];
  for (ir::Axis axis : traced.grid) {
    if (axis == ir::Axis::named("Head")) head_ = axis;
    if (axis == ir::Axis::named("Batch")) batch_ = axis;
  }
}

Value ProgramTiles::tile(ir::Axis grid_axis, Builder& b) const {
  if (!list_ || grid_axis != query_) return b.program_id(grid_axis);
  return named(b, row(*list_, params_, b).field(3, b), "query_tile");
}

ListRow ProgramTiles::row(const mask::TileList& list, int params, Builder& b) const {
  Value row = b.program_id(query_);
  if (!list.class_of.empty()) {
    const auto index = [&](ir::Axis axis) { return axis ? b.program_id(axis) : b.constant(0); };
    const Value at[] = {index(batch_), index(head_)};
    const Value tiles = tile_count(pass_->queries, b.length(query_), b);
    row = b.add(b.mul(b.gather(params + 2, DType::i32, at), tiles), row);
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

Value WalkedRuns::lay_out(const std::vector<Run>& runs, Builder& b) {
  Value end = b.constant(0);
  for (const Run& run : runs) {
    Part part{end, {}, run.from, {}};
    Value size;
    for (std::size_t i = 0; i < run.from.size(); ++i) {
      part.sizes.push_back(b.sub(run.to[i], run.from[i]));
      size = i == 0 ? part.sizes[0] : b.mul(size, part.sizes[i]);
    }
    if (run.from.size() == 1) part.from[0] = b.sub(run.from[0], end);
    end = named(b, b.add(end, size), "tiles");
    part.end = end;
    parts_.push_back(std::move(part));
  }
  return end;
}

std::vector<Value> WalkedRuns::tile(Value number, Builder& b) const {
  const auto choose = [&](auto&& of) {
    Value chosen = of(parts_.back());
    for (std::size_t p = parts_.size() - 1; p-- > 0;)
      chosen = b.select(b.binary(OpCode::lt, number, parts_[p].end), of(parts_[p]), chosen);
    return chosen;
  };
  const std::size_t digits = parts_[0].from.size();
  std::vector<Value> at(digits);
  Value rest = digits == 1 ? number : b.sub(number, choose([](const Part& p) { return p.begin; }));
  for (std::size_t d = digits; d-- > 1;) {
    const Value size = choose([d](const Part& p) { return p.sizes[d]; });
    at[d] = b.binary(OpCode::mod, rest, size);
    rest = b.binary(OpCode::div, rest, size);
  }
  at[0] = rest;
  for (std::size_t d = 0; d < digits; ++d) at[d] = b.add(at[d], choose([d](const Part& p) { return p.from[d]; }));
  return at;
}

Schedule schedule(const mask::Source& source, const ScheduleRequest& request, const ProgramTiles& programs,
                  Builder& into) {
  if (const auto* spans = std::get_if<mask::Spans>(&source.schedule))
    return by_spans(*spans, source.keys.digits.size(), request, into);
  const auto& list = std::get<mask::TileList>(source.schedule);
  return by_list(list, programs.row(list, request.list_params, into), into);
}

// Every tile up to the bound: in one loop whose tiles may pass it, or the whole tiles apart.
Schedule schedule_all(int tile, Value bound, bool one_loop, Builder& into) {
  const Value zero = into.constant(0), end = into.div(into.add(bound, tile - 1), tile);
  if (one_loop) return {.partial = {{{zero}, {end}}}, .full = {}};
  const Value whole = into.div(bound, tile);
  return {.partial = {{{whole}, {end}}}, .full = {{{zero}, {whole}}}};
}

}  // namespace tessera::passes::detail
