// Boolean expressions as trees of constraints. Negation is pushed to the leaves as they are made.
#include <tuple>

#include <tessera/dsl/mask/linear.h>

namespace tessera::mask {

using ir::OpCode;

int Lowering::make(TreeNode node) {
  tree_.push_back(std::move(node));
  return static_cast<int>(tree_.size()) - 1;
}

int Lowering::all_of(int a, int b) {
  if (tree_[a].kind == TreeNode::never || tree_[b].kind == TreeNode::always || a == b) return a;
  if (tree_[b].kind == TreeNode::never || tree_[a].kind == TreeNode::always) return b;
  return make({TreeNode::all_of, a, b, {}});
}

int Lowering::any_of(int a, int b) {
  if (tree_[a].kind == TreeNode::always || tree_[b].kind == TreeNode::never || a == b) return a;
  if (tree_[b].kind == TreeNode::always || tree_[a].kind == TreeNode::never) return b;
  return make({TreeNode::any_of, a, b, {}});
}

int Lowering::boolean(Expressions::Id id, bool negated) {
  if (auto it = booleans_.find({id, negated}); it != booleans_.end()) return it->second;
  const Expressions::Node n = expressions_[id];
  int result = -1;
  switch (n.op) {
    case OpCode::constant:
      result = make({(n.number != 0) != negated ? TreeNode::always : TreeNode::never, -1, -1, {}});
      break;
    case OpCode::logical_not: result = boolean(n.in[0], !negated); break;
    case OpCode::logical_and:
    case OpCode::logical_or: {
      const int a = boolean(n.in[0], negated), b = boolean(n.in[1], negated);
      result = (n.op == OpCode::logical_and) != negated ? all_of(a, b) : any_of(a, b);
      break;
    }
    case OpCode::select: {
      const int yes = all_of(boolean(n.in[0], false), boolean(n.in[1], negated));
      result = any_of(yes, all_of(boolean(n.in[0], true), boolean(n.in[2], negated)));
      break;
    }
    case OpCode::lt:
    case OpCode::le:
    case OpCode::gt:
    case OpCode::ge:
    case OpCode::eq:
    case OpCode::ne: result = compare(n, negated); break;
    default: break;
  }
  if (result < 0) result = negated ? within(opaque(id), 0, 0) : within(opaque(id), 1, 1);
  return booleans_[{id, negated}] = result;
}

// -1: not a comparison of integers or booleans, or beyond this arithmetic.
int Lowering::compare(const Expressions::Node& n, bool negated) {
  const DType dtype = expressions_[n.in[0]].dtype;
  if (dtype == DType::i1 && (n.op == OpCode::eq || n.op == OpCode::ne)) {
    const bool same = (n.op == OpCode::eq) != negated;
    const int a = boolean(n.in[0], false), b = boolean(n.in[1], !same);
    return any_of(all_of(a, b), all_of(boolean(n.in[0], true), boolean(n.in[1], same)));
  }
  if (dtype != DType::i32) return -1;
  const Linear difference = add(linear(n.in[0]), linear(n.in[1]), -1);
  if (global(difference).is_everything()) return -1;
  switch (n.op) {
    case OpCode::lt: return negated ? within(difference, 0, kUnbounded) : within(difference, -kUnbounded, -1);
    case OpCode::le: return negated ? within(difference, 1, kUnbounded) : within(difference, -kUnbounded, 0);
    case OpCode::gt: return negated ? within(difference, -kUnbounded, 0) : within(difference, 1, kUnbounded);
    case OpCode::ge: return negated ? within(difference, -kUnbounded, -1) : within(difference, 0, kUnbounded);
    default: break;
  }
  if ((n.op == OpCode::eq) != negated) return within(difference, 0, 0);
  if (difference.terms.size() == 1) {
    const auto [id, factor] = difference.terms[0];
    if (atoms_[id].kind == AtomKind::mod && (factor == 1 || factor == -1)) {
      const Atom mod = atoms_[id];
      const Int residue = factor > 0 ? -difference.constant : difference.constant;
      if (residue < 0 || residue >= mod.divisor) return make({TreeNode::always, -1, -1, {}});
      return periodic(mod.a, {mod.divisor, residue + 1, mod.divisor - 1});
    }
  }
  return any_of(within(difference, -kUnbounded, -1), within(difference, 1, kUnbounded));
}

// min, max, abs and choices become cases; -1 where these would be beyond this arithmetic.
int Lowering::expanded(const Linear& form, std::size_t term, Int lo, Int hi) {
  const auto [id, factor] = form.terms[term];
  const Atom atom = atoms_[id];
  Linear rest = form;
  rest.terms.erase(rest.terms.begin() + term);
  const Linear a = add(rest, atom.a, factor);
  const Linear b = atom.kind == AtomKind::abs ? add(rest, atom.a, -factor) : add(rest, atom.b, factor);
  if (global(a).is_everything() || global(b).is_everything()) return -1;
  if (atom.kind == AtomKind::choice) {
    const int yes = all_of(boolean(atom.source, false), within(a, lo, hi));
    return any_of(yes, all_of(boolean(atom.source, true), within(b, lo, hi)));
  }
  const bool greatest = (atom.kind != AtomKind::min) == (factor > 0);  // form is the greater of a and b
  int result = make({TreeNode::always, -1, -1, {}});
  if (hi < kUnbounded) {
    const int x = within(a, -kUnbounded, hi), y = within(b, -kUnbounded, hi);
    result = all_of(result, greatest ? all_of(x, y) : any_of(x, y));
  }
  if (lo > -kUnbounded) {
    const int x = within(a, lo, kUnbounded), y = within(b, lo, kUnbounded);
    result = all_of(result, greatest ? any_of(x, y) : all_of(x, y));
  }
  return result;
}

int Lowering::within(Linear form, Int lo, Int hi) {
  const Progression range = global(form);
  if (range.lo >= lo && range.hi <= hi) return make({TreeNode::always, -1, -1, {}});
  if (range.lo > hi || range.hi < lo || lo > hi) return make({TreeNode::never, -1, -1, {}});
  for (std::size_t i = 0; i < form.terms.size(); ++i) {
    const Atom& atom = atoms_[form.terms[i].first];
    if (tree_.size() > kMaxTree) break;  // sums of many choices: their hull then
    const bool mixed =
        atom.sides == 3 && (atom.kind == AtomKind::min || atom.kind == AtomKind::max || atom.kind == AtomKind::abs);
    if (!mixed && atom.kind != AtomKind::choice) continue;
    if (const int cases = expanded(form, i, lo, hi); cases >= 0) return cases;
  }
  if (form.terms.size() == 1) {
    const auto [id, factor] = form.terms[0];
    Int from = lo <= -kUnbounded ? -kUnbounded : lo - form.constant,
        to = hi >= kUnbounded ? kUnbounded : hi - form.constant;
    if (factor < 0) std::tie(from, to) = std::pair(-to, -from);
    const Int size = std::abs(factor);
    if (from > -kUnbounded) from = ceil_div(from, size);
    if (to < kUnbounded) to = floor_div(to, size);
    if (from > to) return make({TreeNode::never, -1, -1, {}});
    if (atoms_[id].kind == AtomKind::mod) {
      const Atom mod = atoms_[id];
      from = std::max<Int>(from, 0), to = std::min(to, mod.divisor - 1);
      if (from > to) return make({TreeNode::never, -1, -1, {}});
      if (to - from + 1 == mod.divisor) return make({TreeNode::always, -1, -1, {}});
      return periodic(mod.a, {mod.divisor, from, to - from + 1});
    }
    form = {0, {{id, 1}}}, lo = from, hi = to;
  }
  Int sign, constant;
  Constraint c;
  c.form = form_of(form, sign, constant);
  c.lo = lo <= -kUnbounded ? -kUnbounded : lo - form.constant;
  c.hi = hi >= kUnbounded ? kUnbounded : hi - form.constant;
  if (sign < 0) std::tie(c.lo, c.hi) = std::pair(-c.hi, -c.lo);
  return make({TreeNode::leaf, -1, -1, c});
}

int Lowering::periodic(const Linear& form, Periodic p) {
  p.offset = floor_mod(p.offset, p.period);
  const Progression range = global(form);
  if (range.hi - range.lo < 2 * p.period) {
    int result = make({TreeNode::never, -1, -1, {}});
    for (Int base = range.lo - floor_mod(range.lo - p.offset, p.period); base <= range.hi; base += p.period)
      result = any_of(result, within(form, base, base + p.length - 1));
    return result;
  }
  Int sign, constant;
  Constraint c;
  c.form = form_of(form, sign, constant);
  // form = sign * f + constant, and -f lies in a residue range when f lies in its mirror image.
  const Int offset = sign > 0 ? p.offset - constant : constant - (p.offset + p.length - 1);
  c.periodics.push_back({p.period, floor_mod(offset, p.period), p.length});
  return make({TreeNode::leaf, -1, -1, c});
}

Constraint Lowering::with_known(const Constraint& c, int x, int y, Int value) {
  Linear form = forms_[c.form];
  Int of_x = 0, of_y = 0;
  for (const auto& [atom, factor] : form.terms) {
    if (atom == x) of_x = factor;
    if (atom == y) of_y = factor;
  }
  if (of_x == 0 || (y >= 0 && of_x + of_y != 0) || form.terms.size() == (y >= 0 ? 2u : 1u)) return c;
  std::erase_if(form.terms, [&](const auto& t) { return t.first == x || t.first == y; });
  const Int shift = of_x * value;  // form = what is left + shift
  Constraint rest = c;
  if (rest.lo > -kUnbounded) rest.lo -= shift;
  if (rest.hi < kUnbounded) rest.hi -= shift;
  for (Periodic& p : rest.periodics) p.offset = floor_mod(p.offset - shift, p.period);
  Int common = 0;
  for (const auto& [atom, factor] : form.terms) common = std::gcd(common, factor);
  if (common > 1 && rest.periodics.empty()) {
    for (auto& term : form.terms) term.second /= common;
    if (rest.lo > -kUnbounded) rest.lo = ceil_div(rest.lo, common);
    if (rest.hi < kUnbounded) rest.hi = floor_div(rest.hi, common);
  }
  Int sign, constant;
  rest.form = form_of(form, sign, constant);
  if (sign < 0) {
    std::tie(rest.lo, rest.hi) = std::pair(-rest.hi, -rest.lo);
    for (Periodic& p : rest.periodics) p.offset = floor_mod(-(p.offset + p.length - 1), p.period);
  }
  return rest;
}

int Lowering::form_of(Linear form, Int& sign, Int& constant) {
  sign = !form.terms.empty() && form.terms[0].second < 0 ? -1 : 1;
  constant = form.constant;
  if (sign < 0) form = scaled(form, -1);
  form.constant = 0;
  auto [it, added] = form_index_.try_emplace(form.terms, static_cast<int>(forms_.size()));
  if (added) forms_.push_back(std::move(form));
  return it->second;
}

}  // namespace tessera::mask
