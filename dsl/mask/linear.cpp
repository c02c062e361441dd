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
    const TokenOrder& order = domain_.side(side);
    for (int i = 0; i < order.digits(); ++i)
      atoms_.push_back({.kind = AtomKind::digit,
                        .sides = 1u << side,
                        .global = Progression::range(0, std::max<Int>(order.extent(i), 1) - 1)});
  }
  const int live = boolean(root, false), dead = boolean(root, true);
  tokens_only_ = false;
  const int both = all_of(valid(0, false), valid(1, false));
  positive_ = all_of(live, both);
  negative_ = any_of(all_of(dead, both), all_of(valid(0, false), valid(1, true)));
}

Linear Lowering::position(int side) const {
  const TokenOrder& order = domain_.side(side);
  Linear sum;
  for (int i = 0; i < order.digits(); ++i)
    if (order.extent(i) > 1) sum.terms.emplace_back(first_digit(side) + i, order.weight(i));
  return sum;
}

// Digits of a side that are a token; negated: that are none.
int Lowering::valid(int side, bool negated) {
  const TokenOrder& order = domain_.side(side);
  int tree = make({negated ? TreeNode::never : TreeNode::always, -1, -1, {}});
  Linear suffix;
  for (int i = order.digits() - 1; i >= 0; --i) {
    if (order.extent(i) > 1) suffix.terms.insert(suffix.terms.begin(), {first_digit(side) + i, order.weight(i)});
    if (!order.ragged(i)) continue;
    const Int end = order.period(i);
    tree = negated ? any_of(tree, within(suffix, end, kUnbounded)) : all_of(tree, within(suffix, -kUnbounded, end - 1));
  }
  return tree;
}

Progression Lowering::global(const Linear& form) const {
  Progression range = value(form, [&](int a) { return atoms_[a].global; });
  if (tokens_only_ && !range.is_everything())
    for (int side = 0; side < 2; ++side) cut_to_suffix(form, side, range);
  return range;
}

// What a token's digits from one down sum up to is less than the weight above them, not the product of their extents.
void Lowering::cut_to_suffix(const Linear& form, int side, Progression& range) const {
  const TokenOrder& order = domain_.side(side);
  const int base = first_digit(side);
  auto term = std::lower_bound(form.terms.begin(), form.terms.end(), base,
                               [](const std::pair<int, Int>& t, int atom) { return t.first < atom; });
  if (term == form.terms.end() || term->first >= base + order.digits()) return;
  const int first = term->first - base;
  if (term->second % order.weight(first) != 0) return;
  const Int factor = term->second / order.weight(first);
  Int most = 0;
  for (int i = first; i < order.digits(); ++i) {
    if (order.extent(i) <= 1) continue;
    if (term == form.terms.end() || term->first != base + i || term->second != factor * order.weight(i)) return;
    most += order.weight(i) * (order.extent(i) - 1);
    ++term;
  }
  const Int over = most - (order.period(first) - 1);
  if (over > 0) (factor > 0 ? range.hi : range.lo) -= factor * over;
}

Linear Lowering::atom(Atom atom) {
  for (const Linear* part : {&atom.a, &atom.b})
    for (const auto& [id, factor] : part->terms) atom.sides |= atoms_[id].sides, atom.inputs |= atom_bit(id);
  if (atom.kind == AtomKind::opaque) atom.inputs = atom_bit(digits()) - 1;
  for (std::size_t i = static_cast<std::size_t>(digits()); i < atoms_.size(); ++i) {
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
  const unsigned free = expressions_[atom.source].depends &
                        ((Expressions::on(kPositionCount) << 1) - 1 - Expressions::on(at_q) - Expressions::on(at_k));
  const Range r = atom.sides == 0 || free
                      ? expressions_.static_range(atom.source)
                      : expressions_.range(atom.source, ranges([&](int a) { return of[a]; }), scratch_);
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
    case OpCode::position: return n.index <= at_k ? position(n.index == at_q ? 0 : 1) : opaque(id);
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
  if (const auto exact = carry_free(whole, rest, divisor, remainder)) return *exact;
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

// rest = size * inner + low where low stays within one `size` and so carries nothing: exact in what size divides.
std::optional<Linear> Lowering::carry_free(const Linear& whole, const Linear& rest, Int divisor, bool remainder) {
  std::vector<Int> sizes;
  for (const auto& [atom, factor] : rest.terms)
    if (std::abs(factor) > 1 && divisor % factor == 0) sizes.push_back(std::abs(factor));
  std::sort(sizes.rbegin(), sizes.rend());
  for (Int size : sizes) {
    Linear inner{floor_div(rest.constant, size), {}}, low{floor_mod(rest.constant, size), {}};
    for (const auto& [atom, factor] : rest.terms) {
      const bool divides = factor % size == 0;
      (divides ? inner : low).terms.emplace_back(atom, divides ? factor / size : factor);
    }
    if (low.terms.empty()) continue;
    const Progression range = global(low);
    const Int period = floor_div(range.lo, size);
    if (period != floor_div(range.hi, size)) continue;
    inner.constant += period, low.constant -= period * size;
    if (remainder) return add(low, quotient(inner, divisor / size, true), size);
    return add(whole, quotient(inner, divisor / size, false));
  }
  return std::nullopt;
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
