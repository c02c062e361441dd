// Guards of edges. A tile may reach past the end of its axis: a padded whole axis, the last query tile, the last key
// tile. What a reduction or a product reads there must be neutral to it. Loads give zeros there and masks are false
// there; from these, constants are followed through elementwise ops: masked scores are -inf, their exponentials 0. Only
// where that does not prove an operand neutral is it replaced: select(position < end, x, identity).
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include <tessera/dsl/passes/tile_by_mask_internal.h>

namespace tessera::passes::detail {

using ir::Axis;
using ir::Builder;
using ir::Op;
using ir::OpCode;
using ir::Value;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Lane = std::optional<double>;  // what every element past the end holds, if that is known

// Elementwise ops on what is known of the operands; empty operands may be any number. `even`: the operand is the same
// all along the axis, so that where it is not finite it has spoilt the whole row, which the program then gives up.
// `positive`: the second operand is above 0.
Lane through(OpCode code, Lane a, Lane b, bool even_a, bool even_b, bool positive) {
  const auto is = [](Lane x, double number) { return x && *x == number; };
  switch (code) {
    case OpCode::exp:
    case OpCode::exp2: return is(a, -kInfinity) ? Lane(0) : is(a, 0) ? Lane(1) : std::nullopt;
    case OpCode::neg: return a ? Lane(-*a) : std::nullopt;
    case OpCode::abs: return a ? Lane(std::fabs(*a)) : std::nullopt;
    case OpCode::cast:
    case OpCode::broadcast: return is(a, 0) || is(a, 1) || is(a, kInfinity) || is(a, -kInfinity) ? a : std::nullopt;
    case OpCode::tanh:
    case OpCode::sqrt:
    case OpCode::floor: return is(a, 0) ? a : std::nullopt;
    case OpCode::logical_not: return a ? Lane(1 - *a) : std::nullopt;
    case OpCode::logical_and: return is(a, 0) || is(b, 0) ? Lane(0) : a && b ? Lane(1) : std::nullopt;
    case OpCode::logical_or: return is(a, 1) || is(b, 1) ? Lane(1) : a && b ? Lane(0) : std::nullopt;
    // A masked score less its row's maximum: the maximum is a number, or the row has no live key and is not read.
    case OpCode::sub:
      if (is(a, -kInfinity) && (b ? !is(b, -kInfinity) : even_b)) return a;
      break;
    case OpCode::add:
      if (is(a, -kInfinity) && (b ? !is(b, kInfinity) : even_b)) return a;
      if (is(b, -kInfinity) && (a ? !is(a, kInfinity) : even_a)) return b;
      break;
    case OpCode::mul:
      if (a && std::isinf(*a) && positive) return a;
      break;
    case OpCode::min:
      if (is(a, -kInfinity) || is(b, -kInfinity)) return -kInfinity;
      break;
    case OpCode::max:
      if (is(a, kInfinity) || is(b, kInfinity)) return kInfinity;
      break;
    default: break;
  }
  if (!a || !b) return std::nullopt;
  switch (code) {
    case OpCode::add: return *a + *b;
    case OpCode::sub: return *a - *b;
    case OpCode::mul: return *a * *b;
    case OpCode::min: return std::fmin(*a, *b);
    case OpCode::max: return std::fmax(*a, *b);
    default: return std::nullopt;
  }
}

double identity(OpCode code, DType dtype) {
  const bool number = is_float(dtype);
  switch (code) {
    case OpCode::reduce_max: return number ? -kInfinity : -2147483648.0;
    case OpCode::reduce_min: return number ? kInfinity : 2147483647.0;
    case OpCode::reduce_all: return 1;
    default: return 0;
  }
}

class Guards {
 public:
  Guards(const Tiled& tiled, std::vector<Axis>* guarded)
      : tiled_(tiled), kernel_(tiled.kernel), guarded_(guarded), definitions_(ir::definitions(tiled.kernel)) {}

  ir::Kernel run() {
    ir::Kernel out = ir::like(kernel_);
    ir::Rewriter rewriter(kernel_, out, [&](ir::Rewriter& r, const Op& op, Builder& b) { return rewrite(r, op, b); });
    rewriter.run();
    return out;
  }

 private:
  // Where the tiles along an axis end, at the place in the code that is being visited.
  struct Edge {
    const TileLoop* loop = nullptr;  // null: a grid axis or a padded whole axis
    bool none = false;
    bool padding = false;  // only places that pad tiles of an order lie past it
  };

  bool rewrite(ir::Rewriter& r, const Op& op, Builder& b);
  Edge edge(Axis axis) const;
  Value guarded(ir::Rewriter& r, Value v, Axis axis, double neutral, Builder& b);
  Lane lane(Value v, Axis axis);
  Lane find_lane(Value v, Axis axis);
  Lane elementwise(const Op& op, Axis axis);
  bool even(Value v, Axis axis) const;
  bool positive(Value v) const;

  const Tiled& tiled_;
  const ir::Kernel& kernel_;
  std::vector<Axis>* guarded_;
  std::vector<const Op*> definitions_;
  std::vector<const TileLoop*> inside_;
  std::map<std::pair<std::uint32_t, std::string>, Lane> lanes_;
};

bool Guards::rewrite(ir::Rewriter& r, const Op& op, Builder& b) {
  if (op.code == OpCode::loop) {
    const auto loop = std::find_if(tiled_.loops.begin(), tiled_.loops.end(),
                                   [&](const TileLoop& l) { return l.index == op.regions[0].args[0]; });
    if (loop == tiled_.loops.end()) return false;
    inside_.push_back(&*loop);
    r.copy(op, b);
    inside_.pop_back();
    return true;
  }
  const bool reduction = ir::info(op.code).kind == ir::OpKind::reduce;
  if ((!reduction && op.code != OpCode::dot) || edge(op.axis).none) return false;
  if (reduction) {
    const double neutral = identity(op.code, kernel_.type(op.operands[0]).dtype);
    if (lane(op.operands[0], op.axis) == Lane(neutral)) return false;
    const Value v = guarded(r, op.operands[0], op.axis, neutral, b);
    r.map(op.results[0], b.reduce(op.code, v, op.axis));
    return true;
  }
  // Both sides 0, so that no infinity or NaN of the one meets the other's zeros.
  Value sides[2];
  bool neutral = true;
  for (int i = 0; i < 2; ++i) {
    const bool zero = lane(op.operands[i], op.axis) == Lane(0);
    neutral &= zero;
    sides[i] = zero ? r[op.operands[i]] : Value{};
  }
  if (neutral) return false;
  for (int i = 0; i < 2; ++i)
    if (!sides[i]) sides[i] = guarded(r, op.operands[i], op.axis, 0, b);
  r.map(op.results[0], b.dot(sides[0], sides[1], op.operands.size() > 2 ? r[op.operands[2]] : Value{}));
  return true;
}

Guards::Edge Guards::edge(Axis axis) const {
  for (auto it = inside_.rbegin(); it != inside_.rend(); ++it)
    if ((*it)->axis == axis) {
      const int order = (*it)->place.order;
      const bool padded = order >= 0 && kernel_.orders[static_cast<std::size_t>(order)].is_padded();
      return {*it, (*it)->inside && !padded, (*it)->inside};
    }
  if (const ir::Dim* whole = kernel_.whole_extent(axis)) {
    bool padded = false;
    for (const ir::ValueInfo& v : kernel_.values)
      if (const ir::Dim* d = v.type.find(axis)) padded |= d->extent != whole->extent;
    return {nullptr, !padded};
  }
  const auto tile = std::find_if(kernel_.grid_tiles.begin(), kernel_.grid_tiles.end(),
                                 [&](const ir::Dim& d) { return d.axis == axis; });
  return {nullptr, tile == kernel_.grid_tiles.end() || tile->extent == 1};
}

Value Guards::guarded(ir::Rewriter& r, Value v, Axis axis, double neutral, Builder& b) {
  const ir::Type type = kernel_.type(v);
  // Before a cast of floats, which keeps identities: there the uncast value may want the same guard, and has one
  // select.
  if (const Op* op = definitions_[v.id]; op && op->code == OpCode::cast && is_float(type.dtype)) {
    if (const Value from = op->operands[0]; is_float(kernel_.type(from).dtype))
      return b.cast(guarded(r, from, axis, neutral, b), type.dtype);
  }
  const Edge e = edge(axis);
  const ir::Dim dim{axis, type.extent(axis)};
  Value within;
  if (e.loop) {
    const Place place{r[e.loop->place.at], e.loop->place.order};
    within = e.padding ? tokens_unpadded(kernel_, dim, place, b)
                       : tokens_within(kernel_, dim, place, e.loop->bound ? r[e.loop->bound] : Value{}, b);
    if (guarded_ && std::find(guarded_->begin(), guarded_->end(), axis) == guarded_->end()) guarded_->push_back(axis);
  } else if (const ir::Dim* whole = kernel_.whole_extent(axis)) {
    within = b.binary(OpCode::lt, b.iota(dim), b.constant(whole->extent));
  } else {
    within = tokens_within(kernel_, dim, program_tile(kernel_, axis, tiled_.programs.tile(axis, b), b), {}, b);
  }
  const Value fill = b.constant(neutral, type);
  return b.append_value(OpCode::select, {within, r[v], fill}, type);
}

Lane Guards::lane(Value v, Axis axis) {
  const std::pair key{v.id, axis.name()};
  if (auto it = lanes_.find(key); it != lanes_.end()) return it->second;
  return lanes_[key] = find_lane(v, axis);
}

Lane Guards::find_lane(Value v, Axis axis) {
  if (auto it = tiled_.within.find(v.id); it != tiled_.within.end() && it->second == axis) return 0;
  const Op* op = definitions_[v.id];
  if (!op) return std::nullopt;
  if (op->code == OpCode::constant) return op->number;
  if (!kernel_.type(v).has(axis)) return std::nullopt;
  if (op->code == OpCode::load) return 0;
  if (op->code == OpCode::broadcast || ir::is_elementwise(op->code)) return elementwise(*op, axis);
  if (ir::info(op->code).kind == ir::OpKind::reduce) {
    const Lane x = lane(op->operands[0], axis);
    return op->code != OpCode::reduce_sum || x == Lane(0) ? x : std::nullopt;
  }
  // A product with a row of zeros: an infinity in the other operand has already spoilt that operand's own row.
  if (op->code == OpCode::dot && op->operands.size() == 2)
    for (int i = 0; i < 2; ++i)
      if (kernel_.type(op->operands[i]).has(axis) && lane(op->operands[i], axis) == Lane(0)) return 0;
  return std::nullopt;
}

Lane Guards::elementwise(const Op& op, Axis axis) {
  if (op.code != OpCode::select) {
    const Lane x = lane(op.operands[0], axis);
    if (op.code == OpCode::cast && x && std::isinf(*x) && !is_float(kernel_.type(op.results[0]).dtype)) return {};
    if (op.operands.size() == 1) return through(op.code, x, std::nullopt, false, false, false);
    return through(op.code, x, lane(op.operands[1], axis), even(op.operands[0], axis), even(op.operands[1], axis),
                   positive(op.operands[1]));
  }
  const Lane condition = lane(op.operands[0], axis);
  if (condition) return lane(op.operands[*condition != 0 ? 1 : 2], axis);
  const Lane yes = lane(op.operands[1], axis), no = lane(op.operands[2], axis);
  return yes == no ? yes : std::nullopt;
}

// Does not vary along `axis`: it lacks it, or only repeats what lacks it.
bool Guards::even(Value v, Axis axis) const {
  while (kernel_.type(v).has(axis)) {
    const Op* op = definitions_[v.id];
    if (!op || op->operands.size() != 1 || (op->code != OpCode::broadcast && !ir::is_elementwise(op->code)))
      return false;
    v = op->operands[0];
  }
  return true;
}

// A constant above 0, or something kept at or above one.
bool Guards::positive(Value v) const {
  const Op* op = definitions_[v.id];
  if (!op) return false;
  if (op->code == OpCode::constant) return op->number > 0;
  if (op->code == OpCode::broadcast) return positive(op->operands[0]);
  return op->code == OpCode::max && (positive(op->operands[0]) || positive(op->operands[1]));
}

}  // namespace

ir::Kernel guard_edges(const Tiled& tiled, std::vector<Axis>* guarded) { return Guards(tiled, guarded).run(); }

}  // namespace tessera::passes::detail
