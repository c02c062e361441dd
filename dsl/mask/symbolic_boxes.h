// Propagation over boxes of digits with expressions for numbers: the bounds of a query tile's digits are symbols, and
// what remains of the key digits are the bounds of the tiles it visits, as arithmetic that a kernel can do
// (geometry: spans). The numeric twin is propagate.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <tessera/dsl/mask/key_bounds.h>
#include <tessera/dsl/mask/normal_form.h>
#include <tessera/dsl/mask/token_order.h>

namespace tessera::mask::symbolic {

using ir::OpCode;
using Id = Expressions::Id;

// Least and greatest value, as sums of expressions.
struct Bounds {
  Linear lo, hi;
};

inline Linear only(Id id) { return {0, {{id, 1}}}; }

// Numbers of the propagation, as expressions.
class Symbols {
 public:
  explicit Symbols(Expressions& e) : e_(e) {}

  Id id(const Linear& sum) { return expression_of(e_, sum); }
  Linear quotient(const Linear& sum, Int divisor) {
    if (divisor == 1) return sum;
    if (sum.is_constant()) return {floor_div(sum.constant, divisor), {}};
    return only(e_.div(id(sum), divisor));
  }
  Linear ceil_quotient(const Linear& sum, Int divisor) {
    return divisor == 1 ? sum : quotient(plus(sum, divisor - 1), divisor);
  }
  Linear min(const Linear& a, const Linear& b) { return pick(OpCode::min, a, b); }
  Linear max(const Linear& a, const Linear& b) { return pick(OpCode::max, a, b); }
  Id at_most(const Linear& a, const Linear& b) {  // a <= b
    const Linear difference = mask::add(b, a, -1);
    if (difference.is_constant()) return e_.constant(difference.constant >= 0, DType::i1);
    return e_.compare(OpCode::le, id(a), id(b));
  }
  Id both(Id a, Id b) { return e_.both(a, b); }
  Id either(Id a, Id b) { return e_.make(OpCode::logical_or, DType::i1, {a, b, -1, -1}); }
  Id flag(bool value) { return e_.constant(value, DType::i1); }
  Linear select(Id condition, const Linear& a, const Linear& b) {
    if (a == b) return a;
    return sum_of(e_, e_.select(condition, id(a), id(b)));
  }
  Expressions& expressions() { return e_; }

 private:
  Linear pick(OpCode op, const Linear& a, const Linear& b) {
    const Linear difference = mask::add(a, b, -1);
    if (difference.is_constant()) return (op == OpCode::min) == (difference.constant <= 0) ? a : b;
    return sum_of(e_, e_.make(op, DType::i32, {id(a), id(b), -1, -1}));
  }

  Expressions& e_;
};

class SymbolicBoxes {
 public:
  // `bound`: the outermost key digit is given, not free.
  SymbolicBoxes(Expressions& e, const Lowering& lowering, bool bound) : s_(e), lowering_(lowering), bound_(bound) {}

  // Of the digits; the other atoms follow from them.
  void set(int digit, Bounds bounds) {
    if (values_.size() <= static_cast<std::size_t>(digit)) values_.resize(static_cast<std::size_t>(digit) + 1);
    values_[static_cast<std::size_t>(digit)] = std::move(bounds);
  }
  const Bounds& digit(int digit) const { return values_[static_cast<std::size_t>(digit)]; }

  Bounds value(const Linear& form, int without = -1) {
    Bounds sum{{form.constant, {}}, {form.constant, {}}};
    for (const auto& [atom, factor] : form.terms) {
      if (atom == without) continue;
      const Bounds x = atom_value(atom);
      sum.lo = add(sum.lo, factor > 0 ? x.lo : x.hi, factor);
      sum.hi = add(sum.hi, factor > 0 ? x.hi : x.lo, factor);
    }
    return sum;
  }

  // Cuts every key digit to what the term allows with queries anywhere in their box. Returns i1: whether what the
  // constraints without a key allow is there at all.
  Id narrow(const Term& term) {
    Id possible = s_.flag(true);
    bool again = false;
    for (const bool of_keys : {false, true})
      for (const Constraint& c : term) {
        const Linear& form = lowering_.forms()[c.form];
        if (has_key(form) != of_keys) continue;
        if (!of_keys) possible = s_.both(possible, feasible(c));
        solve(form, c);
        again |= of_keys && keys_in(form) > 1;
      }
    if (again || bound_)
      for (const Constraint& c : term)
        if (const Linear& form = lowering_.forms()[c.form]; keys_in(form) > 1) solve(form, c);
    for (int i = 0; i < lowering_.first_digit(1); ++i)
      if (cut_queries_ >> i & 1) possible = s_.both(possible, s_.at_most(digit(i).lo, digit(i).hi));
    return possible;
  }

  // Cuts the inner key digits to those of tokens up to `last`, where the outer ones leave no choice.
  void end_keys(const Linear& last) {
    const TokenOrder& keys = lowering_.domain().keys;
    Linear form;
    for (int i = 0; i < keys.digits(); ++i) form.terms.emplace_back(lowering_.first_digit(1) + i, keys.weight(i));
    if (keys.digits() > 1) require(form, std::nullopt, last);
  }

  // Cuts every key digit to what all queries of the box see, outermost first as BoxAnalysis::certain. False: no box.
  bool certain(const Term& term, Id& always) {
    always = s_.flag(true);
    pinned_ = bound_ ? atom_bit(lowering_.first_digit(1)) : 0;
    for (const Constraint& c : term) {
      if (!c.periodics.empty()) return false;
      const Linear& form = lowering_.forms()[c.form];
      if (!has_key(form)) {
        const Bounds x = value(form);
        if (c.lo > -kUnbounded) always = s_.both(always, s_.at_most({c.lo, {}}, x.lo));
        if (c.hi < kUnbounded) always = s_.both(always, s_.at_most(x.hi, {c.hi, {}}));
        continue;
      }
      if (!solve_for_all(form, bound_of(c.lo), bound_of(c.hi))) return false;
      if (c.lo == c.hi && keys_in(form) == 1) pin(form);
    }
    return true;
  }

  // Cuts a digit to keys up to `last`, whatever the digits inside it are.
  void end_all_keys(const Linear& last) {
    const TokenOrder& keys = lowering_.domain().keys;
    Linear form;
    for (int i = 0; i < keys.digits(); ++i) form.terms.emplace_back(lowering_.first_digit(1) + i, keys.weight(i));
    if (keys.digits() > 1) solve_for_all(form, std::nullopt, last);
  }

  // i1: some value of the form satisfies the constraint.
  Id feasible(const Constraint& c) {
    const Bounds x = value(lowering_.forms()[c.form]);
    Id possible = s_.flag(true);
    if (c.hi < kUnbounded) possible = s_.both(possible, s_.at_most(x.lo, {c.hi, {}}));
    if (c.lo > -kUnbounded) possible = s_.both(possible, s_.at_most({c.lo, {}}, x.hi));
    for (const Periodic& p : c.periodics) {
      // The first value from lo on that is admitted is lo itself, or the start of the next period.
      const Linear from = plus(x.lo, -p.offset);
      const Linear next = scaled(s_.ceil_quotient(from, p.period), p.period);
      const Id at_once = s_.at_most(plus(from, -(p.length - 1)), scaled(s_.quotient(from, p.period), p.period));
      possible = s_.both(possible, s_.either(at_once, s_.at_most(plus(next, p.offset), x.hi)));
    }
    return possible;
  }

  // i1: all values do.
  Id always(const Constraint& c) {
    if (!c.periodics.empty()) return s_.flag(false);
    const Bounds x = value(lowering_.forms()[c.form]);
    Id always = s_.flag(true);
    if (c.lo > -kUnbounded) always = s_.both(always, s_.at_most({c.lo, {}}, x.lo));
    if (c.hi < kUnbounded) always = s_.both(always, s_.at_most(x.hi, {c.hi, {}}));
    return always;
  }

  Symbols& symbols() { return s_; }

 private:
  bool has_key(const Linear& form) const { return keys_in(form) > 0; }
  int keys_in(const Linear& form) const {
    int keys = 0;
    for (const auto& [atom, factor] : form.terms) keys += (lowering_.atoms()[atom].sides & 2) != 0;
    return keys;
  }
  bool is_query_digit(int atom) const { return atom < lowering_.first_digit(1); }

  Bounds atom_value(int id);
  void solve(const Linear& form, const Constraint& c);
  void require(const Linear& form, const std::optional<Linear>& lo, const std::optional<Linear>& hi);
  void cut(int atom, const std::optional<Linear>& lo, const std::optional<Linear>& hi);
  bool solve_for_all(const Linear& form, const std::optional<Linear>& lo, const std::optional<Linear>& hi);
  void pin(const Linear& form) {
    for (const auto& [atom, factor] : form.terms)
      if (atom >= lowering_.first_digit(1) && atom < lowering_.digits()) pinned_ |= atom_bit(atom);
  }
  static std::optional<Linear> bound_of(Int number) {
    if (number <= -kUnbounded || number >= kUnbounded) return std::nullopt;
    return Linear{number, {}};
  }

  Symbols s_;
  const Lowering& lowering_;
  bool bound_;
  std::uint64_t cut_queries_ = 0, pinned_ = 0;  // digits; pinned: key digits that are one value
  std::vector<Bounds> values_;
};

}  // namespace tessera::mask::symbolic
