// Scalar functions of positions, inlined at tiles of token orders.
//
// A position in an order is a sum of digits, and what masks ask of it is mostly digits again: the rows and columns of a
// grid, the residue class. Sums of digits are followed through + - and products, quotients and remainders by constants:
// a quotient takes the part of the sum that the divisor divides, if the rest stays within one multiple of it. So no
// tile of quotients is computed where a digit will do, and what only residue classes say is the same for a whole tile.
// All this is right for places that are tokens; what it says of others must not matter, as masks see to.
#include <algorithm>
#include <array>
#include <optional>

#include <tessera/dsl/passes/tile_by_mask_internal.h>

namespace tessera::passes::detail {

using ir::Builder;
using ir::Op;
using ir::OpCode;
using ir::Value;

namespace {

using Int = std::int64_t;
constexpr Int kMost = Int{1} << 30;  // tokens of an axis

struct Range {
  Int lo, hi;
};

Int floor_div(Int a, Int b) { return a / b - (a % b < 0); }

// constant + sum of factor * digit, digits of queries and of keys.
struct Sum {
  std::array<std::vector<Int>, 2> factors;  // by side and digit
  Int constant = 0;

  bool is_constant() const {
    for (const auto& side : factors)
      if (std::any_of(side.begin(), side.end(), [](Int f) { return f != 0; })) return false;
    return true;
  }
  template <class Map>
  Sum mapped(const Map& map) const {
    Sum out = *this;
    for (auto& side : out.factors)
      for (Int& f : side) f = map(f);
    out.constant = map(constant);
    return out;
  }
};

class DigitInliner {
 public:
  DigitInliner(const ir::Kernel& tiled, const ir::Function& function, std::span<const Value> args, int first_param,
               const std::array<PositionTile, 2>& sides, Builder& into)
      : function_(function), first_param_(first_param), sides_(sides), b_(into), known_(function.graph.values.size()) {
    for (std::size_t s = 0; s < 2; ++s) {
      if (sides[s].place.order < 0) continue;
      orders_[s] = &tiled.orders.at(static_cast<std::size_t>(sides[s].place.order)).order;
    }
    for (std::size_t i = 0; i < args.size(); ++i) known_[function.graph.entry.args[i].id].value = args[i];
    constexpr int kArguments[] = {ir::Function::q, ir::Function::k};
    for (std::size_t s = 0; s < 2; ++s) {
      if (!orders_[s]) continue;
      Sum token = none();
      for (std::size_t i = 0; i < orders_[s]->digits.size(); ++i) token.factors[s][i] = orders_[s]->digits[i].weight;
      known_[function.graph.entry.args[static_cast<std::size_t>(kArguments[s])].id].sum = token;
    }
  }

  Value run() {
    for (const Op& op : function_.graph.entry.ops) {
      if (op.code == OpCode::yield) return value(op.operands.at(0));
      inline_op(op);
    }
    throw InternalError("function '" + function_.name + "' does not yield");
  }

 private:
  struct Known {
    Value value{};
    std::optional<Sum> sum{};
    Int modulus = 0;  // the value is sum mod this
  };

  Sum none() const {
    Sum sum;
    for (std::size_t s = 0; s < 2; ++s) sum.factors[s].resize(orders_[s] ? orders_[s]->digits.size() : 0, 0);
    return sum;
  }

  const std::optional<Sum>& sum(Value v) const {
    static const std::optional<Sum> unknown;
    return known_[v.id].modulus ? unknown : known_[v.id].sum;
  }
  std::optional<Int> constant(Value v) const {
    const std::optional<Sum>& s = sum(v);
    return s && s->is_constant() ? std::optional(s->constant) : std::nullopt;
  }

  Value value(Value v);
  Value emit(const Sum& sum);
  Value emit_side(std::size_t side, std::vector<Int> factors);
  Value emit_number(std::size_t side, std::size_t from, std::size_t to);
  Range range(const Sum& sum) const;
  void inline_op(const Op& op);
  bool follow(const Op& op);
  bool divide(const Op& op, const Sum& by_sum, Int by);
  bool same_residue(const Op& op);

  const ir::Function& function_;
  const int first_param_;
  const std::array<PositionTile, 2>& sides_;
  std::array<const ir::Order*, 2> orders_{};
  Builder& b_;
  std::vector<Known> known_;  // by the function's value
};

Value DigitInliner::value(Value v) {
  Known& known = known_[v.id];
  if (known.value) return known.value;
  known.value = emit(*known.sum);
  if (known.modulus) known.value = b_.binary(OpCode::mod, known.value, b_.constant(static_cast<int>(known.modulus)));
  std::string& name = b_.graph().values[known.value.id].name;
  if (name.empty() && !b_.constant_of(known.value)) name = function_.graph.name_of(v);
  return known.value;
}

// Queries less keys, or keys less queries, where one side is negative.
Value DigitInliner::emit(const Sum& sum) {
  Value total, less;
  for (std::size_t s = 0; s < 2; ++s) {
    std::vector<Int> factors = sum.factors[s];
    const auto first = std::find_if(factors.begin(), factors.end(), [](Int f) { return f != 0; });
    if (first == factors.end()) continue;
    const bool negative = *first < 0;
    for (Int& f : factors) f = negative ? -f : f;
    Value& side = negative ? less : total;
    const Value part = emit_side(s, std::move(factors));
    side = side ? b_.add(side, part) : part;
  }
  if (less) total = total ? b_.sub(total, less) : b_.sub(b_.constant(0), less);
  if (!total) return b_.constant(static_cast<int>(sum.constant));
  return sum.constant ? b_.add(total, static_cast<int>(sum.constant)) : total;
}

// As few numbers as the factors allow.
Value DigitInliner::emit_side(std::size_t side, std::vector<Int> factors) {
  const ir::Order& order = *orders_[side];
  Value total;
  for (std::size_t from = 0; from < factors.size(); ++from) {
    if (factors[from] == 0) continue;
    std::size_t to = from;
    for (std::size_t j = from + 1; j < factors.size() && factors[j] != 0; ++j) {
      const Int last = order.digits[j].weight;
      bool fits = order.is_number(from, j);
      for (std::size_t i = from; fits && i < j; ++i) fits = factors[i] == factors[j] * (order.digits[i].weight / last);
      if (fits) to = j;
    }
    Value part = emit_number(side, from, to);
    if (factors[to] != 1) part = b_.mul(part, b_.constant(static_cast<int>(factors[to])));
    total = total ? b_.add(total, part) : part;
    from = to;
  }
  return total;
}

// A scalar where the tile has one value of each digit.
Value DigitInliner::emit_number(std::size_t side, std::size_t from, std::size_t to) {
  const ir::Order& order = *orders_[side];
  const PositionTile& tile = sides_[side];
  bool one = true;
  for (std::size_t i = from; i <= to; ++i) one = one && i > 0 && order.digits[i].tile == 1;
  if (!one) {
    if (from == 0 && to + 1 == order.digits.size()) return tile.tokens;
    return b_.position_digits(tile.dim, tile.place.at, from, to);
  }
  Value total;
  for (std::size_t i = from; i <= to; ++i) {
    const Value digit =
        b_.mul(tile.place.firsts[i], static_cast<int>(order.digits[i].weight / order.digits[to].weight));
    total = total ? b_.add(total, digit) : digit;
  }
  return total;
}

// Of the values of tokens. Digits from one on to the last, in proportion to their weights, stay below the weight
// before.
Range DigitInliner::range(const Sum& sum) const {
  Range all{sum.constant, sum.constant};
  const auto add = [&](Int factor, Int most) { (factor < 0 ? all.lo : all.hi) += factor * most; };
  for (std::size_t s = 0; s < 2; ++s) {
    if (!orders_[s]) continue;
    const std::vector<ir::OrderDigit>& digits = orders_[s]->digits;
    const std::vector<Int>& factors = sum.factors[s];
    std::size_t suffix = digits.size();
    const Int last = factors.back();
    while (last != 0 && suffix > 0 && factors[suffix - 1] == last * digits[suffix - 1].weight) --suffix;
    if (suffix < digits.size()) add(last, (suffix == 0 ? kMost : digits[suffix - 1].weight) - 1);
    for (std::size_t i = 0; i < suffix; ++i)
      if (factors[i] != 0) add(factors[i], (i == 0 ? kMost / digits[0].weight + 1 : orders_[s]->values(i, 0)) - 1);
  }
  return all;
}

bool DigitInliner::divide(const Op& op, const Sum& of, Int by) {
  const auto multiple = [by](Int f) { return f % by == 0 ? f / by : 0; };
  Sum quotient = of.mapped(multiple), rest = of.mapped([by](Int f) { return f % by == 0 ? 0 : f; });
  quotient.constant = floor_div(of.constant, by);
  rest.constant = of.constant - by * quotient.constant;
  const Range r = range(rest);
  const Int whole = floor_div(r.lo, by);
  Known& known = known_[op.results[0].id];
  if (floor_div(r.hi, by) == whole) {
    quotient.constant += whole;
    rest.constant -= whole * by;
    known.sum = op.code == OpCode::div ? quotient : rest;
    return true;
  }
  if (op.code == OpCode::div) return false;
  known.sum = rest;  // sums that differ by multiples have the same remainder
  known.modulus = by;
  return true;
}

// eq or ne of a remainder and 0, whose sum is between -modulus and modulus: then it is the sum that is 0.
bool DigitInliner::same_residue(const Op& op) {
  if (op.code != OpCode::eq && op.code != OpCode::ne) return false;
  const Known& left = known_[op.operands[0].id];
  if (left.modulus == 0 || constant(op.operands[1]) != Int{0}) return false;
  const Range r = range(*left.sum);
  if (r.lo <= -left.modulus || r.hi >= left.modulus) return false;
  Sum positive = left.sum->mapped([](Int f) { return std::max<Int>(f, 0); });
  Sum negative = left.sum->mapped([](Int f) { return std::max<Int>(-f, 0); });
  known_[op.results[0].id].value = b_.binary(op.code, emit(positive), emit(negative));
  return true;
}

bool DigitInliner::follow(const Op& op) {
  Known& known = known_[op.results.at(0).id];
  if (op.code == OpCode::constant) {
    if (function_.graph.type(op.results[0]).dtype != DType::i32) return false;
    known.sum = none();
    known.sum->constant = static_cast<Int>(op.number);
    return true;
  }
  if (op.operands.empty() || !sum(op.operands[0])) return false;
  const Sum a = *sum(op.operands[0]);
  if (op.code == OpCode::neg) return known.sum = a.mapped([](Int f) { return -f; }), true;
  if (op.operands.size() != 2 || !sum(op.operands[1])) return false;
  const Sum b = *sum(op.operands[1]);
  const std::optional<Int> left = constant(op.operands[0]), right = constant(op.operands[1]);
  switch (op.code) {
    case OpCode::add:
    case OpCode::sub: {
      const Int sign = op.code == OpCode::add ? 1 : -1;
      known.sum = a;
      for (std::size_t s = 0; s < 2; ++s)
        for (std::size_t i = 0; i < b.factors[s].size(); ++i) known.sum->factors[s][i] += sign * b.factors[s][i];
      known.sum->constant += sign * b.constant;
      break;
    }
    case OpCode::mul:
      if (!left && !right) return false;
      known.sum = (right ? a : b).mapped([by = right ? *right : *left](Int f) { return f * by; });
      break;
    case OpCode::div:
    case OpCode::mod:
      if (!right || *right <= 0 || !divide(op, a, *right)) return false;
      break;
    default: return false;
  }
  // What leaves i32 wraps, which sums do not; remainders are within their modulus.
  const Range r = range(*known.sum);
  if (r.lo >= -2 * kMost && r.hi < 2 * kMost) return true;
  known = {};
  return false;
}

void DigitInliner::inline_op(const Op& op) {
  if (follow(op) || same_residue(op)) return;
  std::vector<Value> operands;
  for (Value v : op.operands) operands.push_back(value(v));
  known_[op.results.at(0).id].value = ir::inline_scalar_op(function_, op, operands, first_param_, b_);
}

}  // namespace

Value inline_at_tiles(const ir::Kernel& tiled, const ir::Function& function, std::span<const Value> args,
                      int first_param, const std::array<PositionTile, 2>& sides, Builder& into) {
  if (sides[0].place.order < 0 && sides[1].place.order < 0)
    return ir::inline_function(function, args, first_param, into);
  return DigitInliner(tiled, function, args, first_param, sides, into).run();
}

}  // namespace tessera::passes::detail
