#include <tessera/dsl/passes/tile_by_mask.h>

#include <algorithm>

#include <fmt/format.h>

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
    for (std::size_t i = list_params_.size(); i-- > 0;)
      if (list_params_[i] >= 0) out_.programs = list_of(i);
    rewriter_.retype = [this](const ir::Type& t) { return extents_.bind(t); };
    rewriter_.run();
    return std::move(out_);
  }

 private:
  // The tiles of a looped axis that the code being emitted is inside of.
  struct Inside {
    Axis axis;
    Value start, bound;
    bool full;
  };

  void append_params();
  void append_param(ir::Param param);
  bool rewrite(const Op& op, Builder& b);
  void access(const Op& op, Builder& b);
  void over(const Op& op, Builder& b);
  std::vector<Schedule> schedules(const Op& op, Value bound, Builder& b);
  std::vector<Value> tiles(const Op& op, const Schedule& schedule, bool full, std::vector<Value> carried, Value bound,
                           Builder& b);
  Value tile_index(const Schedule& schedule, bool full, Value i, const std::vector<Value>& ends,
                   const std::vector<Value>& shifts, Builder& b);
  Value allowed(const Op& op, Builder& b);
  Value position(Axis axis, Value start, Builder& b);
  Value start(Axis axis, Builder& b);
  ProgramTiles list_of(std::size_t source) const {
    const auto& list = std::get<mask::TileList>(pass_->sources[source].schedule);
    return {traced_, list, list_params_[source], pass_->queries.tile()};
  }
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

// First token of the tile along `axis` that the code being emitted works on.
Value Tiler::start(Axis axis, Builder& b) {
  if (const Inside* in = inside(axis)) return in->start;
  return extents_.is_grid(axis) ? named(b, b.mul(out_.programs.tile(axis, b), extents_.tile(axis)), "first")
                                : b.constant(0);
}

Value Tiler::position(Axis axis, Value start, Builder& b) {
  return named(b, b.add(b.iota({axis, extents_.tile(axis)}), start), extents_.is_grid(axis) ? "query" : "key");
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
    case OpCode::position: rewriter_.map(op.results[0], position(op.axis, start(op.axis, b), b)); return true;
    case OpCode::allowed: rewriter_.map(op.results[0], allowed(op, b)); return true;
    case OpCode::apply: {
      const Axis query = ir::query_axis(traced_), key = traced_.type(op.operands.at(0)).dims.at(0).axis;
      const Value q = query ? position(query, start(query, b), b) : b.constant(0);
      std::vector<Value> args = positions(query, key, q, position(key, start(key, b), b), b);
      for (std::size_t i = 1; i < op.operands.size(); ++i) args.push_back(rewriter_[op.operands[i]]);
      const int f = op.index;
      rewriter_.map(op.results[0], ir::inline_function(traced_.functions.at(f), args, first_param_.at(f), b));
      return true;
    }
    case OpCode::load:
    case OpCode::store: access(op, b); return true;
    case OpCode::over: over(op, b); return true;
    default: return false;
  }
}

void Tiler::access(const Op& op, Builder& b) {
  const std::vector<Axis>& axes = traced_.params.at(op.index).axes;
  std::vector<Value> starts;
  Axis bounded{};
  Value bound{};
  for (Axis axis : axes) {
    starts.push_back(start(axis, b));
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
  if (in->full) return b.constant(1, type);
  const Value k = position(key, in->start, b);
  const Value end = in->bound ? in->bound : b.length(key);
  const Value within = b.binary(OpCode::lt, k, end);
  out_.within.emplace(within.id, key);
  Value all = within;
  if (op.index >= 0) {
    const std::vector<Value> args = positions(query, key, position(query, start(query, b), b), k, b);
    all = b.binary(OpCode::logical_and,
                   ir::inline_function(traced_.functions.at(op.index), args, first_param_.at(op.index), b), within);
  }
  return b.type(all).dims.size() == type.dims.size() ? all : b.broadcast(all, type.dims);
}

void Tiler::over(const Op& op, Builder& b) {
  const bool bounded = op.operands.size() > op.results.size();
  const Value bound = bounded ? rewriter_[op.operands[0]] : Value{};
  std::vector<Value> carried;
  for (std::size_t i = bounded; i < op.operands.size(); ++i) carried.push_back(rewriter_[op.operands[i]]);
  for (const Schedule& s : schedules(op, bound, b)) {
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
  for (std::size_t i = 0; i < pass_->sources.size(); ++i)
    all.push_back(
        schedule(pass_->sources[i],
                 {query, op.axis, extents_.tile(query), tile, first_param_.at(op.index),
                  list_params_[i] >= 0 ? list_of(i).row(b) : ListRow{}, start(query, b), end, bool(bound), head, batch},
                 b));
  return all;
}

// One loop over the partial or the full tiles. One run is walked directly; several are walked as one, tile i of them
// being i plus the shift of the run it falls in.
std::vector<Value> Tiler::tiles(const Op& op, const Schedule& s, bool full, std::vector<Value> carried, Value bound,
                                Builder& b) {
  const std::vector<Run>& runs = full ? s.full : s.partial;
  if (runs.empty() && s.ids < 0) return carried;
  Value lo = b.constant(0), hi;
  std::vector<Value> ends, shifts;
  if (s.ids >= 0) {
    hi = full ? s.fulls : s.partials;
  } else if (runs.size() == 1) {
    lo = runs[0].from, hi = runs[0].to;
  } else {
    hi = lo;
    for (const Run& run : runs) {
      shifts.push_back(b.sub(run.from, hi));
      hi = named(b, b.add(hi, b.sub(run.to, run.from)), "tiles");
      ends.push_back(hi);
    }
  }
  const ir::Block& region = op.regions[0];
  std::vector<std::string> names;
  for (std::size_t i = 1; i < region.args.size(); ++i) names.push_back(traced_.name_of(region.args[i]));
  b.set_loc(op.loc);
  return b.loop(lo, hi, carried, names, [&](Builder& inner, std::span<const Value> args) {
    const Value tile = named(inner, tile_index(s, full, args[0], ends, shifts, inner), "tile");
    const Value start = named(inner, inner.mul(tile, extents_.tile(op.axis)), "start");
    out_.loops.push_back({args[0], op.axis, start, bound, full});
    inside_.push_back({op.axis, start, bound, full});
    for (std::size_t i = 1; i < region.args.size(); ++i) rewriter_.map(region.args[i], args[i]);
    rewriter_.map(region.args[0], start);
    rewriter_.block(region, inner);
    inside_.pop_back();
    return rewriter_[region.ops.back().operands];
  });
}

Value Tiler::tile_index(const Schedule& s, bool full, Value i, const std::vector<Value>& ends,
                        const std::vector<Value>& shifts, Builder& b) {
  if (s.ids >= 0) {
    const Value at = b.add(full ? s.first_full : s.first_partial, i);
    return b.gather(s.ids, DType::i32, {&at, 1});
  }
  if (shifts.empty()) return i;
  Value shift = shifts.back();
  for (std::size_t r = shifts.size() - 1; r-- > 0;)
    shift = b.select(b.binary(OpCode::lt, i, ends[r]), shifts[r], shift);
  return b.add(i, shift);
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
