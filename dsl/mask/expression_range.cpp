// Values of expressions: at a point, and over a box. Float operations whose last bit a device may round otherwise are
// never decided by their host value.
#include <cmath>
#include <limits>

#include <tessera/dsl/ir/fold.h>
#include <tessera/dsl/mask/expression.h>
#include <tessera/dsl/mask/table_ranges.h>

namespace tessera::mask {

using ir::OpCode;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Range kAnyFloat{-kInfinity, kInfinity};
constexpr Range kAnyInt{-2147483648.0, 2147483647.0};
constexpr Range kBoth{0, 1};

// True, false or undecided.
Range verdict_of(OpCode op, Range a, Range b) {
  const auto verdict = [](bool yes, bool no) { return yes ? Range{1, 1} : no ? Range{0, 0} : kBoth; };
  switch (op) {
    case OpCode::lt: return verdict(a.hi < b.lo, a.lo >= b.hi);
    case OpCode::le: return verdict(a.hi <= b.lo, a.lo > b.hi);
    case OpCode::gt: return verdict_of(OpCode::lt, b, a);
    case OpCode::ge: return verdict_of(OpCode::le, b, a);
    case OpCode::eq: return verdict(a.is_point() && b.is_point() && a.lo == b.lo, a.hi < b.lo || b.hi < a.lo);
    default: return verdict(a.hi < b.lo || b.hi < a.lo, a.is_point() && b.is_point() && a.lo == b.lo);
  }
}

Range corners(OpCode op, Range a, Range b) {
  const auto at = [&](double x, double y) {
    return op == OpCode::mul ? x * y : static_cast<double>(floor_div(static_cast<Int>(x), static_cast<Int>(y)));
  };
  const double v[] = {at(a.lo, b.lo), at(a.lo, b.hi), at(a.hi, b.lo), at(a.hi, b.hi)};
  return {*std::min_element(v, v + 4), *std::max_element(v, v + 4)};
}

Range int_range(OpCode op, Range a, Range b) {
  switch (op) {
    case OpCode::neg: return {-a.hi, -a.lo};
    case OpCode::abs: return {std::max({a.lo, -a.hi, 0.0}), std::max(-a.lo, a.hi)};
    case OpCode::add: return {a.lo + b.lo, a.hi + b.hi};
    case OpCode::sub: return {a.lo - b.hi, a.hi - b.lo};
    case OpCode::mul: return corners(op, a, b);
    case OpCode::min: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case OpCode::max: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case OpCode::div: {
      if (b.lo > 0 || b.hi < 0) return corners(op, a, b);
      const double most = std::max(std::fabs(a.lo), std::fabs(a.hi));  // divisors of magnitude 1 and more, and 0
      return {-most - 1, most + 1};
    }
    case OpCode::mod: {
      if (b.is_point() && b.lo > 0) {
        const Int lo = static_cast<Int>(a.lo), hi = static_cast<Int>(a.hi), c = static_cast<Int>(b.lo);
        if (floor_div(lo, c) == floor_div(hi, c))
          return {static_cast<double>(floor_mod(lo, c)), static_cast<double>(floor_mod(hi, c))};
      }
      return {std::min(0.0, b.lo + 1), std::max(0.0, b.hi - 1)};
    }
    default: return kAnyInt;
  }
}

Range float_range(OpCode op, Range a, Range b) {
  const auto out = [](double lo, double hi) {
    if (std::isnan(lo) || std::isnan(hi)) return kAnyFloat;
    // One step of f32 outwards covers any rounding, and a contraction to fma.
    return Range{std::nextafter(static_cast<float>(lo), -INFINITY), std::nextafter(static_cast<float>(hi), INFINITY)};
  };
  if (std::isinf(a.lo) && std::isinf(a.hi) && a.lo < a.hi) return kAnyFloat;  // may hold a NaN
  switch (op) {
    case OpCode::neg: return {-a.hi, -a.lo};
    case OpCode::abs: return int_range(op, a, b);
    case OpCode::min:
    case OpCode::max: return int_range(op, a, b);
    case OpCode::floor: return {std::floor(a.lo), std::floor(a.hi)};
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul: {
      const Range r = int_range(op, a, b);
      return out(r.lo, r.hi);
    }
    default: return kAnyFloat;
  }
}

}  // namespace

// `ranges` null: what holds for every length, head, batch and scalar.
Range Expressions::range_of(const Node& n, const Range* in, const PositionRanges* ranges, bool* wraps) const {
  switch (n.op) {
    case OpCode::constant: return {n.number, n.number};
    case OpCode::position: return ranges ? (*ranges)[n.index] : Range{0, limits_[static_cast<std::size_t>(n.index)]};
    case OpCode::scalar:
      if (ranges) return {scalars_[n.index], scalars_[n.index]};
      return n.dtype == DType::i32 ? Range{-scalar_limit_, scalar_limit_} : kAnyFloat;
    case OpCode::gather: {
      const TableData* data = table(n.index);
      if (!data) return n.dtype == DType::f32 ? kAnyFloat : kAnyInt;
      int rank = 0;
      while (rank < 4 && n.in[rank] >= 0) ++rank;
      return table_range(*data, in, rank);
    }
    case OpCode::lt:
    case OpCode::le:
    case OpCode::gt:
    case OpCode::ge:
    case OpCode::eq:
    case OpCode::ne:
      // An unbounded side may be NaN, of which only "undecided" is true.
      if (nodes_[n.in[0]].dtype == DType::f32)
        for (int i = 0; i < 2; ++i)
          if (in[i].lo == -kInfinity && in[i].hi == kInfinity) return kBoth;
      return verdict_of(n.op, in[0], in[1]);
    case OpCode::logical_and: return {std::min(in[0].lo, in[1].lo), std::min(in[0].hi, in[1].hi)};
    case OpCode::logical_or: return {std::max(in[0].lo, in[1].lo), std::max(in[0].hi, in[1].hi)};
    case OpCode::logical_not: return {1 - in[0].hi, 1 - in[0].lo};
    case OpCode::select:
      if (in[0].is_point()) return in[0].lo != 0 ? in[1] : in[2];
      return {std::min(in[1].lo, in[2].lo), std::max(in[1].hi, in[2].hi)};
    case OpCode::cast:
      if (n.dtype == DType::i32 && nodes_[n.in[0]].dtype == DType::f32) {
        if (std::fabs(in[0].lo) > 2e9 || std::fabs(in[0].hi) > 2e9) return kAnyInt;
        return {std::trunc(in[0].lo), std::trunc(in[0].hi)};
      }
      if (n.dtype == DType::i1)
        return in[0].is_point()               ? Range{double(in[0].lo != 0), double(in[0].lo != 0)}
               : in[0].lo > 0 || in[0].hi < 0 ? Range{1, 1}
                                              : kBoth;
      if (n.dtype == DType::f32) return {static_cast<float>(in[0].lo), static_cast<float>(in[0].hi)};
      return in[0];
    default: break;
  }
  if (n.dtype == DType::f32) return float_range(n.op, in[0], n.in[1] >= 0 ? in[1] : in[0]);
  const Range r = int_range(n.op, in[0], n.in[1] >= 0 ? in[1] : in[0]);
  if (r.lo >= kAnyInt.lo && r.hi <= kAnyInt.hi) return r;
  if (wraps) *wraps = true;
  return kAnyInt;
}

bool Expressions::may_wrap(const PositionRanges& ranges) const {
  return may_wrap(ranges, -std::numeric_limits<double>::infinity());
}

bool Expressions::may_wrap(const PositionRanges& ranges, double scalars) const {
  std::vector<Range> values(nodes_.size());
  bool wraps = false;
  for (Id i = 0; i < size(); ++i) {
    Range in[4];
    for (int j = 0; j < 4 && nodes_[i].in[j] >= 0; ++j) in[j] = values[nodes_[i].in[j]];
    values[i] = range_of(nodes_[i], in, &ranges, &wraps);
    if (nodes_[i].op == OpCode::scalar) values[i] = {std::min(values[i].lo, -scalars), std::max(values[i].hi, scalars)};
  }
  return wraps;
}

Range Expressions::range(Id id, const PositionRanges& ranges, std::vector<Range>& scratch) const {
  scratch.resize(nodes_.size());
  // Ids below `id` that it does not need are few: an arena holds one predicate.
  for (Id i = 0; i <= id; ++i) {
    const Node& n = nodes_[i];
    Range in[4];
    for (int j = 0; j < 4 && n.in[j] >= 0; ++j) in[j] = scratch[n.in[j]];
    scratch[i] = range_of(n, in, &ranges);
  }
  return scratch[id];
}

PointProgram::PointProgram(const Expressions& expressions, const std::vector<Expressions::Id>& roots)
    : expressions_(expressions), roots_(roots), values_(expressions.size()) {
  std::vector<char> needed(expressions.size(), 0);
  for (Expressions::Id root : roots) needed[root] = 1;
  for (int id = expressions.size() - 1; id >= 0; --id)
    if (needed[id])
      for (Expressions::Id in : expressions[id].in)
        if (in >= 0) needed[in] = 1;
  for (int id = 0; id < expressions.size(); ++id)
    if (needed[id]) order_.push_back(id);
}

void PointProgram::run(const std::array<Int, kPositionCount>& positions, double* results) {
  for (Expressions::Id id : order_) {
    const Expressions::Node& n = expressions_[id];
    const auto in = [&](int i) { return n.in[i] < 0 ? 0 : values_[n.in[i]]; };
    switch (n.op) {
      case OpCode::constant: values_[id] = n.number; break;
      case OpCode::position: values_[id] = static_cast<double>(positions[n.index]); break;
      case OpCode::scalar: values_[id] = expressions_.scalar(n.index); break;
      case OpCode::gather: {
        std::vector<std::int64_t> at;
        for (int i = 0; i < 4 && n.in[i] >= 0; ++i) at.push_back(static_cast<Int>(in(i)));
        const TableData* data = expressions_.table(n.index);
        if (!data)
          throw UserError(
              expressions_.source().loc,
              "table '" + expressions_.source().function.params[n.index].name + "' has no data before the call",
              "give the mask a host table to evaluate it on the host");
        values_[id] = data->at(at);
        break;
      }
      default: values_[id] = ir::evaluate(n.op, expressions_[n.in[0]].dtype, n.dtype, in(0), in(1), in(2)); break;
    }
  }
  for (std::size_t i = 0; i < roots_.size(); ++i) results[i] = values_[roots_[i]];
}

}  // namespace tessera::mask
