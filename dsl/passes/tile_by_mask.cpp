#include <tessera/dsl/passes/tile_by_mask.h>

#include <algorithm>

#include <fmt/format.h>

#include <tessera/dsl/mask/pointwise.h>
#include <tessera/dsl/passes/tile_by_mask_internal.h>

namespace tessera::passes {

using namespace detail;
using ir::Axis;
using ir::Builder;
using ir::Op;
using ir::OpCode;
using ir::Rewriter;
using ir::Value;

namespace {

class Tiler {
 public:
  Tiler(const ir::Kernel& traced, const mask::Pass* pass, const Tiling& tiling, const std::vector<Axis>& split)
      : traced_(traced),
        pass_(pass),
        extents_(traced, pass, tiling),
        split_(split),
        rewriter_(traced, out_.kernel, [this](Rewriter&, const Op& op, Builder& b) { return rewrite(op, b); }) {}

  Tiled run() {
    out_.kernel = ir::like(traced_);
    out_.kernel.stage = ir::Stage::tiled;
    out_.kernel.grid_tiles = extents_.grid_tiles();
    out_.kernel.whole = extents_.whole_axes();
    out_.kernel.functions.clear();
    append_params();
    add_orders();
    if (pass_) out_.programs = ProgramTiles(traced_, *pass_, list_params_);
    rewriter_.retype = [this](const ir::Type& t) { return extents_.bind(t); };
    rewriter_.run();
    return std::move(out_);
  }

 private:
  // The tiles of a looped axis that the code being emitted is inside of.
  struct Inside {
    Axis axis;
    Place place;
    Value bound;
    bool full;
    const mask::Source* source;  // null without a mask
  };

  void append_params();
  void add_orders();
  int add_order(Axis axis, const ir::Order& order);
  void append_param(ir::Param param);
  bool rewrite(const Op& op, Builder& b);
  void access(const Op& op, Builder& b);
  void over(const Op& op, Builder& b);
  std::vector<Schedule> schedules(const Op& op, Value bound, Builder& b);
  std::vector<Value> tiles(const Op& op, const Schedule& schedule, bool full, std::vector<Value> carried, Value bound,
                           Builder& b);
  Place tile(const Op& op, const Schedule& schedule, bool full, const WalkedRuns& runs, Value i, Builder& b);
  Value applied(const Op& op, Builder& b);
  Value allowed(const Op& op, Builder& b);
  const ir::Function& predicate(const Op& allowed, const Inside& in) const;
  Value position(Axis axis, const Place& place, Builder& b);
  PositionTile positions_at(Axis axis, Builder& b);
  Place place(Axis axis, Builder& b);
  ir::Dim dim(Axis axis) const { return {axis, extents_.tile(axis)}; }
  Value grid_index(const char* name, Builder& b);
  const Inside* inside(Axis axis) const;
  std::vector<Value> positions(Axis query, Axis key, Value q, Value k, Builder& b);

  const ir::Kernel& traced_;
  const mask::Pass* pass_;
  Extents extents_;
  std::vector<Axis> split_;  // axes whose loops keep whole tiles apart
  Tiled out_;
  Rewriter rewriter_;
  std::vector<int> first_param_;  // by function
  std::vector<int> list_params_;  // by source: the first of its tables, -1 without a list
  std::vector<int> key_orders_;   // by source: of its keys, -1: identity
  std::vector<Inside> inside_;
};

void Tiler::append_param(ir::Param param) {
  std::vector<ir::Param>& params = out_.kernel.params;
  const auto taken = [&](const std::string& name) {
    return std::any_of(params.begin(), params.end(), [&](const ir::Param& p) { return p.name == name; });
  };
  const std::string name = param.name;
  for (int n = 2; taken(param.name); ++n) param.name = fmt::format("{}_{}", name, n);
  params.push_back(std::move(param));
}

void Tiler::append_params() {
  for (const ir::Function& function : traced_.functions) {
    first_param_.push_back(static_cast<int>(out_.kernel.params.size()));
    for (const ir::Param& param : function.params) append_param(param);
  }
  if (!pass_) return;
  const int ranks[] = {2, 1, 2};
  for (const mask::Source& source : pass_->sources) {
    const auto* list = std::get_if<mask::TileList>(&source.schedule);
    list_params_.push_back(list ? static_cast<int>(out_.kernel.params.size()) : -1);
    for (int i = 0; list && i < (list->class_of.empty() ? 2 : 3); ++i)
      append_param({.name = kListTables[i],
                    .kind = ir::ParamKind::table,
                    .dtype = DType::i32,
                    .axes = {},
                    .rank = ranks[i],
                    .indices = true});
  }
}

const Tiler::Inside* Tiler::inside(Axis axis) const {
  const auto it = std::find_if(inside_.rbegin(), inside_.rend(), [&](const Inside& i) { return i.axis == axis; });
  return it == inside_.rend() ? nullptr : &*it;
}

// The orders of the plan that are no identity. A plan has one query axis and one key axis.
void Tiler::add_orders() {
  if (!pass_) return;
  ir::walk(traced_.entry, [&](const Op& op) {
    if (op.code != OpCode::over || op.index < 0 || !key_orders_.empty()) return;
    const Axis query = mask_queries(traced_, op.loc);
    if (const int number = add_order(query, pass_->queries); number >= 0) {
      for (Axis axis : traced_.grid) out_.kernel.grid_orders.push_back(axis == query ? number : -1);
    }
    for (const mask::Source& source : pass_->sources) key_orders_.push_back(add_order(op.axis, source.keys));
  });
}

int Tiler::add_order(Axis axis, const ir::Order& order) {
  if (order.is_identity()) return -1;
  std::vector<ir::AxisOrder>& orders = out_.kernel.orders;
  const ir::AxisOrder cut{axis, order, extents_.rows(axis, order)};
  const auto known = std::find(orders.begin(), orders.end(), cut);
  const auto number = static_cast<int>(known - orders.begin());
  if (known == orders.end()) orders.push_back(cut);
  return number;
}

// The tile along `axis` that the code being emitted works on.
Place Tiler::place(Axis axis, Builder& b) {
  if (const Inside* in = inside(axis)) return in->place;
  if (!extents_.is_grid(axis)) return {b.constant(0)};
  return program_tile(out_.kernel, axis, out_.programs.tile(axis, b), b);
}

Value Tiler::position(Axis axis, const Place& place, Builder& b) {
  return named(b, tokens_of(dim(axis), place, b), extents_.is_grid(axis) ? "query" : "key");
}

PositionTile Tiler::positions_at(Axis axis, Builder& b) {
  Place at = place(axis, b);
  const Value tokens = position(axis, at, b);
  return {dim(axis), std::move(at), tokens};
}

Value Tiler::grid_index(const char* name, Builder& b) {
  const Axis axis = Axis::named(name);
  return extents_.is_grid(axis) ? b.program_id(axis) : b.constant(0);
}

// Arguments of a scalar function at tiles of token positions.
std::vector<Value> Tiler::positions(Axis query, Axis key, Value q, Value k, Builder& b) {
  return {q, k, grid_index("Head", b), grid_index("Batch", b), query ? b.length(query) : b.constant(1), b.length(key)};
}

bool Tiler::rewrite(const Op& op, Builder& b) {
  switch (op.code) {
    case OpCode::constant:
      rewriter_.map(op.results[0], b.constant(op.number, extents_.bind(traced_.type(op.results[0]))));
      return true;
    case OpCode::position: rewriter_.map(op.results[0], position(op.axis, place(op.axis, b), b)); return true;
    case OpCode::allowed: rewriter_.map(op.results[0], allowed(op, b)); return true;
    case OpCode::apply: rewriter_.map(op.results[0], applied(op, b)); return true;
    case OpCode::load:
    case OpCode::store: access(op, b); return true;
    case OpCode::over: over(op, b); return true;
    default: return false;
  }
}

Value Tiler::applied(const Op& op, Builder& b) {
  const Axis query = ir::query_axis(traced_), key = traced_.type(op.operands.at(0)).dims.at(0).axis;
  std::array<PositionTile, 2> sides;
  if (query)
    sides[0] = positions_at(query, b);
  else
    sides[0].tokens = b.constant(0);
  sides[1] = positions_at(key, b);
  std::vector<Value> args = positions(query, key, sides[0].tokens, sides[1].tokens, b);
  for (std::size_t i = 1; i < op.operands.size(); ++i) args.push_back(rewriter_[op.operands[i]]);
  const int f = op.index;
  return inline_at_tiles(out_.kernel, traced_.functions.at(f), args, first_param_.at(f), sides, b);
}

void Tiler::access(const Op& op, Builder& b) {
  const std::vector<Axis>& axes = traced_.params.at(op.index).axes;
  std::vector<Value> starts;
  Axis bounded{};
  Value bound{};
  for (Axis axis : axes) {
    starts.push_back(place(axis, b).at);
    const Inside* in = inside(axis);
    if (in && in->bound && !in->full) bounded = axis, bound = in->bound;
  }
  if (op.code == OpCode::store) return b.store(op.index, rewriter_[op.operands[0]], starts);
  if (bounded) starts.push_back(bound);
  rewriter_.map(op.results[0], b.load(op.index, extents_.bind(traced_.type(op.results[0])), starts, bounded));
}

Value Tiler::allowed(const Op& op, Builder& b) {
  const ir::Type type = extents_.bind(traced_.type(op.results[0]));
  const Axis query = type.dims.at(0).axis, key = type.dims.at(1).axis;
  const Inside* in = inside(key);
  ensure(in != nullptr, "a mask is asked about a tile of the loop it stands in");
  Value within;
  if (in->full) {
    within = tokens_unpadded(out_.kernel, dim(key), in->place, b);
    if (!within) return b.constant(1, type);
    out_.within.emplace(within.id, key);
    return b.broadcast(within, type.dims);
  }
  const PositionTile k = positions_at(key, b);
  within = tokens_within(out_.kernel, dim(key), in->place, in->bound, b);
  out_.within.emplace(within.id, key);
  Value all = within;
  if (op.index >= 0) {
    const std::array<PositionTile, 2> sides{positions_at(query, b), k};
    const std::vector<Value> args = positions(query, key, sides[0].tokens, k.tokens, b);
    const Value asked = inline_at_tiles(out_.kernel, predicate(op, *in), args, first_param_.at(op.index), sides, b);
    all = b.binary(OpCode::logical_and, asked, within);
  }
  return b.type(all).dims.size() == type.dims.size() ? all : b.broadcast(all, type.dims);
}

// What partial tiles of the loop's mask ask: all of it, or the share of the source whose tiles are being walked.
const ir::Function& Tiler::predicate(const Op& allowed, const Inside& in) const {
  if (in.source && in.source->part) return in.source->part->function;
  return traced_.functions.at(static_cast<std::size_t>(allowed.index));
}

void Tiler::over(const Op& op, Builder& b) {
  const bool bounded = op.operands.size() > op.results.size();
  const Value bound = bounded ? rewriter_[op.operands[0]] : Value{};
  std::vector<Value> carried;
  for (std::size_t i = bounded; i < op.operands.size(); ++i) carried.push_back(rewriter_[op.operands[i]]);
  const std::vector<Schedule> all = schedules(op, bound, b);
  for (const Schedule& s : all) {
    if (s.source) extents_.set_tile(op.axis, extents_.rows(op.axis, s.source->keys));
    carried = tiles(op, s, false, std::move(carried), bound, b);
    carried = tiles(op, s, true, std::move(carried), bound, b);
  }
  for (std::size_t i = 0; i < op.results.size(); ++i) rewriter_.map(op.results[i], carried[i]);
}

// One for each of the pass's sources, which are walked one after the other; or all tiles, without a mask.
std::vector<Schedule> Tiler::schedules(const Op& op, Value bound, Builder& b) {
  const Value end = bound ? bound : b.length(op.axis);
  const int tile = extents_.tile(op.axis);
  if (op.index < 0) {
    bool asks = std::find(split_.begin(), split_.end(), op.axis) != split_.end();
    ir::walk(op.regions[0], [&](const Op& o) { asks |= o.code == OpCode::allowed; });
    return {schedule_all(tile, end, !asks, b)};
  }
  if (!pass_)
    throw UserError(op.loc, fmt::format("kernel '{}' loops over a mask and was given no plan", traced_.name),
                    "make a plan from the mask");
  const Axis query = mask_queries(traced_, op.loc);
  const Value head = grid_index("Head", b), batch = grid_index("Batch", b);
  std::vector<Schedule> all;
  for (std::size_t i = 0; i < pass_->sources.size(); ++i) {
    const ScheduleRequest request{.query = query,
                                  .key = op.axis,
                                  .queries = pass_->queries,
                                  .function_params = first_param_.at(op.index),
                                  .list_params = list_params_[i],
                                  .tile = place(query, b),
                                  .bound = end,
                                  .has_bound = bool(bound),
                                  .head = head,
                                  .batch = batch};
    all.push_back(schedule(pass_->sources[i], request, out_.programs, b));
    all.back().source = &pass_->sources[i];
    all.back().order = key_orders_.at(i);
  }
  return all;
}

// One loop over the partial or the full tiles. One run is walked directly; several, and boxes, are walked as one: the
// runs one after the other, in each the last digit fastest.
std::vector<Value> Tiler::tiles(const Op& op, const Schedule& s, bool full, std::vector<Value> carried, Value bound,
                                Builder& b) {
  const std::vector<Run>& runs = full ? s.full : s.partial;
  if (runs.empty() && (s.ids < 0 || (!full && !s.partials))) return carried;
  Value lo = b.constant(0), hi;
  WalkedRuns walked;
  if (s.ids >= 0) {
    hi = full ? s.fulls : s.partials;
  } else if (runs.size() == 1 && runs[0].from.size() == 1) {
    lo = runs[0].from[0], hi = runs[0].to[0];
  } else {
    hi = walked.lay_out(runs, b);
  }
  const ir::Block& region = op.regions[0];
  std::vector<std::string> names;
  for (std::size_t i = 1; i < region.args.size(); ++i) names.push_back(traced_.name_of(region.args[i]));
  b.set_loc(op.loc);
  return b.loop(lo, hi, carried, names, [&](Builder& inner, std::span<const Value> args) {
    const Place place = tile(op, s, full, walked, args[0], inner);
    out_.loops.push_back({args[0], op.axis, place, bound, full});
    inside_.push_back({op.axis, place, bound, full, s.source});
    for (std::size_t i = 1; i < region.args.size(); ++i) rewriter_.map(region.args[i], args[i]);
    rewriter_.map(region.args[0], place.at);
    rewriter_.block(region, inner);
    inside_.pop_back();
    return rewriter_[region.ops.back().operands];
  });
}

// The i-th tile that a loop takes.
Place Tiler::tile(const Op& op, const Schedule& s, bool full, const WalkedRuns& runs, Value i, Builder& b) {
  std::vector<Value> at{i};
  if (s.ids >= 0) {
    const Value entry = b.add(full ? s.first_full : s.first_partial, i);
    at = {b.gather(s.ids, DType::i32, {&entry, 1})};
    if (s.order >= 0) at = tile_digits(s.source->keys, at[0], b);
  } else if (!runs.empty()) {
    at = runs.tile(i, b);
  }
  if (s.order >= 0) {
    Place place = tile_of_order(out_.kernel, s.order, at, b);
    named(b, place.at, "tile");
    return place;
  }
  const Value tile = named(b, at[0], "tile");
  return {named(b, b.mul(tile, extents_.tile(op.axis)), "start")};
}

}  // namespace

ir::Kernel tile_by_mask(const ir::Kernel& traced, const mask::Plan* plan, const Tiling& tiling) {
  if (plan) check_supported(*plan);
  const mask::Pass* pass = plan ? &plan->passes.front() : nullptr;
  std::vector<Axis> guarded;
  ir::Kernel kernel = guard_edges(Tiler(traced, pass, tiling, {}).run(), &guarded);
  // Loops without a mask take whole tiles apart only if the last tile costs them something.
  if (!guarded.empty()) kernel = guard_edges(Tiler(traced, pass, tiling, guarded).run(), nullptr);
  if (pass) kernel.order = pass->order;
  return kernel;
}

}  // namespace tessera::passes
