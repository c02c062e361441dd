#include <tessera/dsl/mask/symbolic_boxes.h>

#include <fmt/format.h>

namespace tessera::mask::symbolic {

Bounds SymbolicBoxes::atom_value(int id) {
  if (id < lowering_.digits()) return digit(id);
  const Atom& atom = lowering_.atoms()[id];
  Expressions& e = s_.expressions();
  if (atom.sides == 0 && atom.kind == AtomKind::opaque) {
    const Linear symbol = e[atom.source].dtype == DType::i1 ? only(e.select(atom.source, e.constant(1), e.constant(0)))
                                                            : sum_of(e, atom.source);
    return {symbol, symbol};
  }
  switch (atom.kind) {
    case AtomKind::div: {
      const Bounds a = value(atom.a);
      return {s_.quotient(a.lo, atom.divisor), s_.quotient(a.hi, atom.divisor)};
    }
    case AtomKind::mod: {
      const Bounds a = value(atom.a);
      const Int c = atom.divisor;
      const Linear low = scaled(s_.quotient(a.lo, c), c), high = scaled(s_.quotient(a.hi, c), c);
      const Id one_period = s_.at_most(high, low);
      return {s_.select(one_period, add(a.lo, low, -1), {}), s_.select(one_period, add(a.hi, high, -1), {c - 1, {}})};
    }
    case AtomKind::min:
    case AtomKind::max: {
      const Bounds a = value(atom.a), b = value(atom.b);
      if (atom.kind == AtomKind::min) return {s_.min(a.lo, b.lo), s_.min(a.hi, b.hi)};
      return {s_.max(a.lo, b.lo), s_.max(a.hi, b.hi)};
    }
    case AtomKind::abs: {
      const Bounds a = value(atom.a);
      return {s_.max(s_.max(a.lo, scaled(a.hi, -1)), {}), s_.max(scaled(a.lo, -1), a.hi)};
    }
    default:
      throw NoClosedForm{fmt::format("{}: no closed form of its range",
                                     atom.source < 0 ? "a table or choice" : e.describe(atom.source))};
  }
}

void SymbolicBoxes::solve(const Linear& form, const Constraint& c) { require(form, bound_of(c.lo), bound_of(c.hi)); }

// lo <= form <= hi, for the keys; for the queries too where there is no key in it, or one that is given.
void SymbolicBoxes::require(const Linear& form, const std::optional<Linear>& lo, const std::optional<Linear>& hi) {
  const int outermost = lowering_.first_digit(1);
  const bool keys = has_key(form), given = bound_ && std::any_of(form.terms.begin(), form.terms.end(),
                                                                 [&](const auto& t) { return t.first == outermost; });
  for (const auto& [atom, factor] : form.terms) {
    const unsigned sides = lowering_.atoms()[atom].sides;
    if (sides == 0 || (keys && !given && !(sides & 2))) continue;
    const Bounds rest = value(form, atom);
    std::optional<Linear> least, most;
    if (lo) (factor > 0 ? least : most) = add(*lo, rest.hi, -1);
    if (hi) (factor > 0 ? most : least) = add(*hi, rest.lo, -1);
    const Int size = std::abs(factor);
    if (factor < 0) {
      if (least) least = scaled(*least, -1);
      if (most) most = scaled(*most, -1);
    }
    if (least) least = s_.ceil_quotient(*least, size);
    if (most) most = s_.quotient(*most, size);
    cut(atom, least, most);
  }
}

void SymbolicBoxes::cut(int id, const std::optional<Linear>& lo, const std::optional<Linear>& hi) {
  if (id < lowering_.digits()) {
    Bounds& x = values_[static_cast<std::size_t>(id)];
    if (lo) x.lo = s_.max(x.lo, *lo);
    if (hi) x.hi = s_.min(x.hi, *hi);
    if (is_query_digit(id)) cut_queries_ |= atom_bit(id);
    return;
  }
  const Atom& atom = lowering_.atoms()[id];
  switch (atom.kind) {
    case AtomKind::div: {
      std::optional<Linear> from, to;
      if (lo) from = scaled(*lo, atom.divisor);
      if (hi) to = plus(scaled(*hi, atom.divisor), atom.divisor - 1);
      return require(atom.a, from, to);
    }
    case AtomKind::min:
      if (lo) require(atom.a, lo, std::nullopt), require(atom.b, lo, std::nullopt);
      return;
    case AtomKind::max:
      if (hi) require(atom.a, std::nullopt, hi), require(atom.b, std::nullopt, hi);
      return;
    case AtomKind::abs:
      if (hi) require(atom.a, scaled(*hi, -1), hi);
      return;
    default: return;
  }
}

bool SymbolicBoxes::solve_for_all(const Linear& form, const std::optional<Linear>& lo,
                                  const std::optional<Linear>& hi) {
  const int base = lowering_.first_digit(1);
  for (const auto& [id, factor] : form.terms) {
    const Atom& atom = lowering_.atoms()[id];
    if (!(atom.sides & 2)) continue;
    int digit = id;
    Int divisor = 1, offset = 0;
    if (atom.kind == AtomKind::div && atom.a.terms.size() == 1 && atom.a.terms[0].second == 1) {
      digit = atom.a.terms[0].first, divisor = atom.divisor, offset = atom.a.constant;
    }
    if (digit < base || digit >= lowering_.digits()) return false;
    if ((pinned_ & atom_bit(id)) && keys_in(form) > 1) continue;
    const Bounds rest = value(form, id);
    std::optional<Linear> least, most;
    if (lo) (factor > 0 ? least : most) = add(*lo, rest.lo, -1);
    if (hi) (factor > 0 ? most : least) = add(*hi, rest.hi, -1);
    const Int size = std::abs(factor);
    if (factor < 0) {
      if (least) least = scaled(*least, -1);
      if (most) most = scaled(*most, -1);
    }
    Bounds& x = values_[static_cast<std::size_t>(digit)];
    if (least) x.lo = s_.max(x.lo, plus(scaled(s_.ceil_quotient(*least, size), divisor), -offset));
    if (most) x.hi = s_.min(x.hi, plus(scaled(s_.quotient(*most, size), divisor), divisor - 1 - offset));
    return true;
  }
  return false;
}

}  // namespace tessera::mask::symbolic
