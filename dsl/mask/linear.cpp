#include <tessera/dsl/mask/linear.h>

#include <tessera/dsl/mask/table_ranges.h>

namespace tessera::mask {

using ir::OpCode;

Linear add(const Linear& a, const Linear& b, Int factor) {
  Linear sum;
  sum.constant = a.constant;
  sum.overflow = a.overflow || b.overflow || !accumulate(sum.constant, b.constant, factor);
  auto i = a.terms.begin(), j = b.terms.begin();
  while (i != a.terms.end() || j != b.terms.end()) {
    const bool left = j == b.terms.end() || (i != a.terms.end() && i->first <= j->first);
    const bool right = i == a.terms.end() || (j != b.terms.end() && j->first <= i->first);
    const int atom = left ? i->first : j->first;
    Int coefficient = left ? i->second : 0;
    if (right) sum.overflow |= !accumulate(coefficient, j->second, factor);
    if (coefficient != 0) sum.terms.emplace_back(atom, coefficient);
    if (left) ++i;
    if (right) ++j;
  }
  return sum.overflow ? Linear{0, {}, true} : sum;
}

Linear scaled(const Linear& a, Int factor) { return add({}, a, factor); }

Lowering::Lowering(Expressions& expressions, Expressions::Id root, const Domain& domain)
    : expressions_(expressions), domain_(domain) {
  for (int side = 0; side < 2; ++side) {
    const Int length = side == 0 ? domain.query_length : domain.key_length;
    atoms_.push_back(
        {.kind = AtomKind::digit, .sides = 1u << side, .global = Progression::range(0, std::max<Int>(length, 1) - 1)});
  }
  positive_ = boolean(root, false);
  negative_ = boolean(root, true);
}

PositionRanges Lowering::ranges(Progression q, Progression k) const {
  PositionRanges ranges{};
  for (Range& r : ranges) r = {0, 0};
  ranges[at_q] = {static_cast<double>(q.lo), static_cast<double>(q.hi)};
  ranges[at_k] = {static_cast<double>(k.lo), static_cast<double>(k.hi)};
  return ranges;
}

Progression Lowering::global(const Linear& form) const {
  return value(form, [&](int a) { return atoms_[a].global; });
}

Linear Lowering::atom(Atom atom) {
  for (const Linear* part : {&atom.a, &atom.b})
    for (const auto& [id, factor] : part->terms) atom.sides |= atoms_[id].sides;
  for (std::size_t i = 2; i < atoms_.size(); ++i) {
    const Atom& x = atoms_[i];
    if (x.kind == atom.kind && x.a == atom.a && x.b == atom.b && x.divisor == atom.divisor && x.table == atom.table &&
        x.condition == atom.condition && x.source == atom.source)
      return {0, {{static_cast<int>(i), 1}}};
  }
  std::vector<Progression> globals;
  for (const Atom& x : atoms_) globals.push_back(x.global);
  atom.global = atom_value(atom, globals.data());
  if (atom.global.is_point() && atom.kind != AtomKind::digit) return {atom.global.lo, {}};
  atoms_.push_back(std::move(atom));
  return {0, {{static_cast<int>(atoms_.size()) - 1, 1}}};
}

Progression Lowering::atom_value(const Atom& atom, const Progression* of) const {
  const auto eval = [&](const Linear& form) { return value(form, [&](int a) { return of[a]; }); };
  const Progression a = eval(atom.a);
  switch (atom.kind) {
    case AtomKind::digit: throw InternalError("a digit has no definition");
    case AtomKind::div: return Progression::range(floor_div(a.lo, atom.divisor), floor_div(a.hi, atom.divisor));
    case AtomKind::mod: {
      const Int c = atom.divisor, period = floor_div(a.lo, c);
      if (period == floor_div(a.hi, c)) return {a.lo - period * c, a.hi - period * c, a.step};
      const Int step = std::gcd(a.step, c), least = floor_mod(a.lo, step);
      return {least, least + floor_div(c - 1 - least, step) * step, least + step > c - 1 ? 0 : step};
    }
    case AtomKind::min:
    case AtomKind::max: {
      const Progression b = eval(atom.b);
      const bool least = atom.kind == AtomKind::min;
      return least ? Progression::range(std::min(a.lo, b.lo), std::min(a.hi, b.hi))
                   : Progression::range(std::max(a.lo, b.lo), std::max(a.hi, b.hi));
    }
    case AtomKind::abs: return Progression::range(std::max({a.lo, -a.hi, Int{0}}), std::max(-a.lo, a.hi));
    case AtomKind::choice: {
      const Progression b = eval(atom.b);
      return Progression::range(std::min(a.lo, b.lo), std::max(a.hi, b.hi));
    }
    case AtomKind::table:
    case AtomKind::opaque: break;
  }
  if (atom.kind == AtomKind::table) {
    const Range in{static_cast<double>(a.lo), static_cast<double>(a.hi)};
    const Range r = atom.table->over(&in);
    return Progression::range(static_cast<Int>(r.lo), static_cast<Int>(r.hi));
  }
  const Range r = expressions_.range(atom.source, ranges(of[0], of[1]), scratch_);
  return Progression::range(static_cast<Int>(r.lo), static_cast<Int>(r.hi));
}

Linear Lowering::opaque(Expressions::Id id) {
  unsigned sides = 0;
  if (expressions_[id].depends & Expressions::on(at_q)) sides |= 1;
  if (expressions_[id].depends & Expressions::on(at_k)) sides |= 2;
  return atom({.kind = AtomKind::opaque, .source = id, .sides = sides});
}

Linear Lowering::linear(Expressions::Id id) {
  if (auto it = lowered_.find(id); it != lowered_.end()) return it->second;
  Linear form = lower(id);
  const Progression range = global(form);
  if (!fits_i32(range.lo) || !fits_i32(range.hi)) form = opaque(id);  // arithmetic that may wrap
  return lowered_[id] = form;
}

Linear Lowering::lower(Expressions::Id id) {
  const Expressions::Node n = expressions_[id];
  const auto in = [&](int i) { return linear(n.in[i]); };
  switch (n.op) {
    case OpCode::constant: return {static_cast<Int>(n.number), {}};
    case OpCode::position: return {0, {{n.index == at_q ? 0 : 1, 1}}};
    case OpCode::neg: return scaled(in(0), -1);
    case OpCode::add: return add(in(0), in(1));
    case OpCode::sub: return add(in(0), in(1), -1);
    case OpCode::mul: {
      const Linear a = in(0), b = in(1);
      if (a.is_constant()) return scaled(b, a.constant);
      if (b.is_constant()) return scaled(a, b.constant);
      return opaque(id);
    }
    case OpCode::div:
    case OpCode::mod: {
      const Linear divisor = in(1);
      if (!divisor.is_constant() || divisor.constant <= 0) return opaque(id);
      return quotient(in(0), divisor.constant, n.op == OpCode::mod);
    }
    case OpCode::min:
    case OpCode::max: {
      const Linear a = in(0), b = in(1);
      const Progression difference = global(add(a, b, -1));
      const bool least = n.op == OpCode::min;
      if (difference.hi <= 0) return least ? a : b;
      if (difference.lo >= 0) return least ? b : a;
      return atom({.kind = least ? AtomKind::min : AtomKind::max, .a = a, .b = b});
    }
    case OpCode::abs: {
      const Linear a = in(0);
      const Progression range = global(a);
      if (range.lo >= 0) return a;
      if (range.hi <= 0) return scaled(a, -1);
      return atom({.kind = AtomKind::abs, .a = !a.terms.empty() && a.terms[0].second < 0 ? scaled(a, -1) : a});
    }
    case OpCode::select: {
      const int condition = boolean(n.in[0], false);
      if (tree_[condition].kind == TreeNode::always) return in(1);
      if (tree_[condition].kind == TreeNode::never) return in(2);
      return atom({.kind = AtomKind::choice, .a = in(1), .b = in(2), .condition = condition, .source = n.in[0]});
    }
    case OpCode::cast: {
      if (expressions_[n.in[0]].dtype != DType::i1) return opaque(id);
      const int condition = boolean(n.in[0], false);
      return atom({.kind = AtomKind::choice, .a = {1, {}}, .b = {0, {}}, .condition = condition, .source = n.in[0]});
    }
    case OpCode::gather: return table(id);
    default: return opaque(id);
  }
}

// a = divisor * whole + rest by divisibility; exact where rest stays within one period.
Linear Lowering::quotient(const Linear& a, Int divisor, bool remainder) {
  if (a.terms.size() == 1 && a.constant == 0 && a.terms[0].second == 1 &&
      atoms_[a.terms[0].first].kind == AtomKind::div && !remainder) {
    const Atom inner = atoms_[a.terms[0].first];  // (x // c) // d is x // (c * d)
    if (inner.divisor <= kMaxIndex / divisor) return quotient(inner.a, inner.divisor * divisor, false);
  }
  Linear whole, rest;
  whole.constant = floor_div(a.constant, divisor);
  rest.constant = a.constant - whole.constant * divisor;
  for (const auto& [atom, factor] : a.terms) {
    if (factor % divisor == 0)
      whole.terms.emplace_back(atom, factor / divisor);
    else
      rest.terms.emplace_back(atom, factor);
  }
  const Progression range = global(rest);
  if (range.is_everything()) return {0, {}, true};
  const Int period = floor_div(range.lo, divisor);
  if (period == floor_div(range.hi, divisor)) {
    if (remainder) return add(rest, {-period * divisor, {}});
    return add(whole, {period, {}});
  }
  Int common = divisor;
  for (const auto& [atom, factor] : rest.terms) common = std::gcd(common, factor);
  if (common > 1) {  // rest = common * inner + r with 0 <= r < common
    Linear inner{floor_div(rest.constant, common), rest.terms};
    for (auto& term : inner.terms) term.second /= common;
    const Int r = floor_mod(rest.constant, common);
    if (remainder) return add({r, {}}, quotient(inner, divisor / common, true), common);
    return add(whole, quotient(inner, divisor / common, false));
  }
  const Linear part = atom({.kind = remainder ? AtomKind::mod : AtomKind::div, .a = rest, .divisor = divisor});
  return remainder ? part : add(whole, part);
}

Linear Lowering::table(Expressions::Id id) {
  const Expressions::Node n = expressions_[id];
  const TableData* data = expressions_.table(n.index);
  if (!data || n.dtype != DType::i32 || n.in[1] >= 0) return opaque(id);
  Atom look_up;
  look_up.kind = AtomKind::table;
  look_up.a = linear(n.in[0]);
  look_up.table = &data->ranges();
  return atom(std::move(look_up));
}

}  // namespace tessera::mask
