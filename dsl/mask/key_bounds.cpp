#include <tessera/dsl/mask/key_bounds.h>

#include <fmt/format.h>

namespace tessera::mask {

using ir::OpCode;
using Id = Expressions::Id;

namespace {

constexpr std::size_t kMaxKeyTerms = 16;  // on the way; what is left after absorption is fewer
constexpr unsigned kQuery = Expressions::on(at_q), kKey = Expressions::on(at_k);

Linear term(Id id, Int factor = 1) { return {0, {{id, factor}}}; }

bool same(const KeyBound& a, const KeyBound& b) {
  return a.kind == b.kind && a.weak == b.weak && a.strong == b.strong && a.possible == b.possible &&
         a.certain == b.certain;
}

// Every bound of `weak` is one of `strong`'s: strong implies weak.
bool implies(const KeyTerm& strong, const KeyTerm& weak) {
  return (strong.uncertain || !weak.uncertain) &&
         std::all_of(weak.bounds.begin(), weak.bounds.end(), [&](const KeyBound& w) {
           return std::any_of(strong.bounds.begin(), strong.bounds.end(),
                              [&](const KeyBound& s) { return same(s, w); });
         });
}

}  // namespace

Linear sum_of(const Expressions& e, Id id) {
  const Expressions::Node& n = e[id];
  switch (n.op) {
    case OpCode::constant: return {static_cast<Int>(n.number), {}};
    case OpCode::neg: return scaled(sum_of(e, n.in[0]), -1);
    case OpCode::add: return add(sum_of(e, n.in[0]), sum_of(e, n.in[1]));
    case OpCode::sub: return add(sum_of(e, n.in[0]), sum_of(e, n.in[1]), -1);
    case OpCode::mul:
      if (e.is_constant(n.in[0])) return scaled(sum_of(e, n.in[1]), e.value(n.in[0]));
      if (e.is_constant(n.in[1])) return scaled(sum_of(e, n.in[0]), e.value(n.in[1]));
      return term(id);
    default: return term(id);
  }
}

Id expression_of(Expressions& e, const Linear& sum) {
  bool fits = !sum.overflow && fits_i32(std::abs(sum.constant));
  for (const auto& [id, factor] : sum.terms) fits &= fits_i32(std::abs(factor));
  if (!fits) throw NoClosedForm{"a bound with numbers beyond i32"};
  Id result = -1;
  for (const bool positive : {true, false}) {
    for (const auto& [id, factor] : sum.terms) {
      if ((factor > 0) != positive) continue;
      const Id scaled = e.mul(id, factor > 0 || result < 0 ? factor : -factor);
      result = result < 0 ? scaled : positive ? e.add(result, scaled) : e.sub(result, scaled);
    }
  }
  if (result < 0) return e.constant(static_cast<double>(sum.constant));
  const Id constant = e.constant(static_cast<double>(std::abs(sum.constant)));
  return sum.constant < 0 ? e.sub(result, constant) : e.add(result, constant);
}

KeyBounds::Terms KeyBounds::all_of(const Terms& a, const Terms& b) {
  Terms result;
  for (const KeyTerm& x : a) {
    for (const KeyTerm& y : b) {
      KeyTerm both = x;
      both.uncertain |= y.uncertain;
      for (const KeyBound& bound : y.bounds)
        if (std::none_of(both.bounds.begin(), both.bounds.end(), [&](const KeyBound& z) { return same(z, bound); }))
          both.bounds.push_back(bound);
      result.push_back(std::move(both));
    }
  }
  return absorbed(std::move(result));
}

KeyBounds::Terms KeyBounds::any_of(Terms a, const Terms& b) {
  a.insert(a.end(), b.begin(), b.end());
  return absorbed(std::move(a));
}

KeyBounds::Terms KeyBounds::absorbed(Terms terms) {
  Terms kept;
  for (KeyTerm& t : terms) {
    if (std::any_of(kept.begin(), kept.end(), [&](const KeyTerm& k) { return implies(t, k); })) continue;
    std::erase_if(kept, [&](const KeyTerm& k) { return implies(k, t); });
    kept.push_back(std::move(t));
  }
  if (kept.size() > kMaxKeyTerms) throw NoClosedForm{fmt::format("a union of more than {} key ranges", kMaxKeyTerms)};
  return kept;
}

KeyBounds::Terms KeyBounds::boolean(Id id, bool negated) {
  const Expressions::Node n = e_[id];
  if (n.op == OpCode::constant) return (n.number != 0) != negated ? Terms{KeyTerm{}} : Terms{};
  const bool leaf = n.op != OpCode::logical_not && n.op != OpCode::logical_and && n.op != OpCode::logical_or;
  if (leaf && needs_call_data(id)) return {KeyTerm{{}, true}};
  if (!(n.depends & (kQuery | kKey))) return flag(id, negated);
  switch (n.op) {
    case OpCode::logical_not: return boolean(n.in[0], !negated);
    case OpCode::logical_and:
    case OpCode::logical_or: {
      const Terms a = boolean(n.in[0], negated), b = boolean(n.in[1], negated);
      return (n.op == OpCode::logical_and) != negated ? all_of(a, b) : any_of(a, b);
    }
    case OpCode::select:
      return any_of(all_of(boolean(n.in[0], false), boolean(n.in[1], negated)),
                    all_of(boolean(n.in[0], true), boolean(n.in[2], negated)));
    default: return compare(id, negated);
  }
}

// A condition without positions, whatever it is made of.
KeyBounds::Terms KeyBounds::flag(Id condition, bool negated) {
  const Id c = negated ? e_.make(OpCode::logical_not, DType::i1, {condition, -1, -1, -1}) : condition;
  return one({KeyBound::condition, {}, {}, c, c});
}

KeyBounds::Terms KeyBounds::compare(Id id, bool negated) {
  const Expressions::Node n = e_[id];
  const bool equality = n.op == OpCode::eq || n.op == OpCode::ne;
  if (ir::info(n.op).kind != ir::OpKind::compare) refuse(id);
  const DType dtype = e_[n.in[0]].dtype;
  if (dtype == DType::i1 && equality) {
    const bool same = (n.op == OpCode::eq) != negated;
    return any_of(all_of(boolean(n.in[0], false), boolean(n.in[1], !same)),
                  all_of(boolean(n.in[0], true), boolean(n.in[1], same)));
  }
  if (dtype != DType::i32) refuse(id);
  const Linear left = sum_of(e_, n.in[0]), right = sum_of(e_, n.in[1]);
  const Linear difference = add(left, right, -1), opposite = scaled(difference, -1);
  try {
    switch (n.op) {
      case OpCode::lt: return at_least_zero(negated ? difference : plus(opposite, -1));
      case OpCode::le: return at_least_zero(negated ? plus(difference, -1) : opposite);
      case OpCode::gt: return at_least_zero(negated ? opposite : plus(difference, -1));
      case OpCode::ge: return at_least_zero(negated ? plus(opposite, -1) : difference);
      default: break;
    }
    if ((n.op == OpCode::eq) != negated) return all_of(at_least_zero(difference), at_least_zero(opposite));
    return any_of(at_least_zero(plus(difference, -1)), at_least_zero(plus(opposite, -1)));
  } catch (const NoClosedForm& why) {
    if (why.reason.empty()) refuse(id);
    throw;
  }
}

// sum >= 0, solved for k.
KeyBounds::Terms KeyBounds::at_least_zero(const Linear& sum) {
  if (sum.overflow) throw NoClosedForm{};
  const Id k = e_.position(at_k);
  int with_key = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < sum.terms.size(); ++i) {
    const auto [id, factor] = sum.terms[i];
    const Expressions::Node& n = e_[id];
    const bool piecewise = n.op == OpCode::min || n.op == OpCode::max || n.op == OpCode::abs;
    const bool choice = n.op == OpCode::select || (n.op == OpCode::cast && e_[n.in[0]].dtype == DType::i1);
    const bool varying_choice = choice && (e_[n.in[0]].depends & (kQuery | kKey));
    if ((piecewise && n.depends & kKey) || varying_choice || (choice && n.depends & kKey)) {
      Linear rest = sum;
      rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(i));
      return cases(rest, factor, id);
    }
    if (id == k || n.depends & kKey) ++with_key, at = i;
  }
  if (with_key == 0) return condition(sum);
  if (with_key > 1) throw NoClosedForm{};
  Linear rest = sum;
  rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(at));
  return isolated(rest, sum.terms[at].second, sum.terms[at].first);
}

// rest + factor * atom >= 0 where the atom is a min, max, abs or choice.
KeyBounds::Terms KeyBounds::cases(const Linear& rest, Int factor, Id atom) {
  const Expressions::Node n = e_[atom];
  if (n.op == OpCode::select || n.op == OpCode::cast) {
    const Linear yes = n.op == OpCode::cast ? Linear{1, {}} : sum_of(e_, n.in[1]);
    const Linear no = n.op == OpCode::cast ? Linear{0, {}} : sum_of(e_, n.in[2]);
    return any_of(all_of(boolean(n.in[0], false), at_least_zero(add(rest, yes, factor))),
                  all_of(boolean(n.in[0], true), at_least_zero(add(rest, no, factor))));
  }
  const Linear a = sum_of(e_, n.in[0]);
  const Linear b = n.op == OpCode::abs ? scaled(a, -1) : sum_of(e_, n.in[1]);
  const Terms x = at_least_zero(add(rest, a, factor)), y = at_least_zero(add(rest, b, factor));
  return (n.op != OpCode::min) == (factor > 0) ? any_of(x, y) : all_of(x, y);
}

// rest + factor * atom >= 0, k in the atom alone: atom >= ceil(-rest / factor), or atom <= floor(rest / -factor).
KeyBounds::Terms KeyBounds::isolated(const Linear& rest, Int factor, Id atom) {
  const Int size = std::abs(factor);
  // floor(rest / size): for a lower bound its negative is the bound.
  const Linear whole = size == 1            ? rest
                       : rest.is_constant() ? Linear{floor_div(rest.constant, size), {}}
                                            : term(e_.div(expression_of(e_, rest), size));
  const Linear bound = factor > 0 ? scaled(whole, -1) : whole;
  const Expressions::Node n = e_[atom];
  if (n.op == OpCode::position) {
    const Interval at = over_tile(bound);
    if (factor > 0) return one({KeyBound::lower, at.lo, at.hi});
    return one({KeyBound::upper, at.hi, at.lo});
  }
  if (n.op == OpCode::div && e_.is_constant(n.in[1]) && e_.value(n.in[1]) > 0) {
    const Int c = e_.value(n.in[1]);
    const Linear inner = sum_of(e_, n.in[0]);
    if (factor > 0) return at_least_zero(add(inner, bound, -c));
    return at_least_zero(plus(add(scaled(bound, c), inner, -1), c - 1));
  }
  throw NoClosedForm{};
}

KeyBounds::Terms KeyBounds::condition(const Linear& sum) {
  const Interval at = over_tile(sum);
  const Id zero = e_.constant(0);
  const Id possible = e_.compare(OpCode::le, zero, expression_of(e_, at.hi));
  const Id certain = e_.compare(OpCode::le, zero, expression_of(e_, at.lo));
  if (e_.is_constant(possible) && e_.value(possible) == 0) return {};
  if (e_.is_constant(certain) && e_.value(certain) == 1) return {KeyTerm{}};
  return one({KeyBound::condition, {}, {}, possible, certain});
}

KeyBounds::Interval KeyBounds::over_tile(const Linear& sum) {
  Interval total{{sum.constant, {}}, {sum.constant, {}}};
  for (const auto& [id, factor] : sum.terms) {
    const Interval x = over_tile(id);
    total.lo = add(total.lo, factor > 0 ? x.lo : x.hi, factor);
    total.hi = add(total.hi, factor > 0 ? x.hi : x.lo, factor);
  }
  return total;
}

KeyBounds::Interval KeyBounds::over_tile(Id id) {
  const Expressions::Node n = e_[id];
  if (!(n.depends & kQuery)) return {term(id), term(id)};
  if (n.op == OpCode::position) return {term(e_.position(at_first)), term(e_.position(at_last))};
  const auto in = [&](int i) { return over_tile(sum_of(e_, n.in[i])); };
  const auto make = [&](OpCode op, const Linear& a, const Linear& b) {
    return sum_of(e_, e_.make(op, DType::i32, {expression_of(e_, a), expression_of(e_, b), -1, -1}));
  };
  switch (n.op) {
    case OpCode::min:
    case OpCode::max: {
      const Interval a = in(0), b = in(1);
      return {make(n.op, a.lo, b.lo), make(n.op, a.hi, b.hi)};
    }
    case OpCode::abs: {
      const Interval a = in(0);
      const Linear from_zero = make(OpCode::max, a.lo, scaled(a.hi, -1));
      return {make(OpCode::max, from_zero, {}), make(OpCode::max, scaled(a.lo, -1), a.hi)};
    }
    case OpCode::select: {
      const Interval a = in(1), b = in(2);
      if (e_[n.in[0]].depends & kQuery) return {make(OpCode::min, a.lo, b.lo), make(OpCode::max, a.hi, b.hi)};
      const auto choose = [&](const Linear& x, const Linear& y) {
        return term(e_.select(n.in[0], expression_of(e_, x), expression_of(e_, y)));
      };
      return {choose(a.lo, b.lo), choose(a.hi, b.hi)};
    }
    case OpCode::div:
    case OpCode::mod: {
      if (!e_.is_constant(n.in[1]) || e_.value(n.in[1]) <= 0) throw NoClosedForm{};
      const Int c = e_.value(n.in[1]);
      const Interval a = in(0);
      const Id lo = expression_of(e_, a.lo), hi = expression_of(e_, a.hi), low = e_.div(lo, c), high = e_.div(hi, c);
      if (n.op == OpCode::div) return {term(low), term(high)};
      const Id one_period = e_.compare(OpCode::eq, low, high);
      return {term(e_.select(one_period, e_.sub(lo, e_.mul(low, c)), e_.constant(0))),
              term(e_.select(one_period, e_.sub(hi, e_.mul(high, c)), e_.constant(static_cast<double>(c - 1))))};
    }
    default: throw NoClosedForm{};
  }
}

bool KeyBounds::needs_call_data(Id id) const {
  const Expressions::Node& n = e_[id];
  if (n.op == OpCode::gather && !e_.table(n.index)) return true;
  return std::any_of(n.in.begin(), n.in.end(), [&](Id in) { return in >= 0 && needs_call_data(in); });
}

void KeyBounds::refuse(Id id) const {
  bool query_table = false, key_table = false, remainder = false, product = false;
  std::vector<Id> open{id};
  while (!open.empty()) {
    const Expressions::Node& n = e_[open.back()];
    open.pop_back();
    if (n.op == OpCode::gather) query_table |= (n.depends & kQuery) != 0, key_table |= (n.depends & kKey) != 0;
    remainder |= n.op == OpCode::mod && (n.depends & kKey);
    product |= n.op == OpCode::mul && !e_.is_constant(n.in[0]) && !e_.is_constant(n.in[1]);
    for (Id in : n.in)
      if (in >= 0) open.push_back(in);
  }
  const char* why = query_table && key_table ? "a table look-up on both sides"
                    : key_table              ? "a table look-up by k"
                    : query_table            ? "a table look-up by q"
                    : remainder              ? "a remainder of k"
                    : product                ? "a product of run-time values"
                                             : "no single bound on k follows from it";
  throw NoClosedForm{fmt::format("{}: {}", e_.describe(id), why)};
}

}  // namespace tessera::mask
