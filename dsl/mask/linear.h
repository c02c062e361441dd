// Linear forms over digits, constraints on them, and the boolean trees a predicate becomes.
//
// A digit is one coordinate of a token order; the identity order has one a side, the token's index. What is not linear
// in digits (a division, a table look-up) is an *atom*: an opaque summand with a range and, mostly, an inverse.
// How a predicate is lowered:
// - sums, and products with constants, stay linear; a division or remainder splits off what its divisor divides, and
//   what cannot carry into it: in the digits of a grid its coordinates come out as digits;
// - min, max, abs and select become cases where a comparison needs them, atoms elsewhere;
// - a comparison of integers is an interval constraint on one form, of a remainder with constants a periodic one;
// - what may leave i32, or the range of this arithmetic, is opaque: evaluated as a range over the box.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include <tessera/dsl/mask/expression.h>
#include <tessera/dsl/mask/token_order.h>

namespace tessera::mask {

inline constexpr int kMaxDigits = 2 * kMaxOrderDigits;  // of both sides together
inline constexpr std::size_t kMaxTree = 4096;           // cases stop being told apart beyond it

// constant + sum of coefficient * atom, sorted by atom.
struct Linear {
  Int constant = 0;
  std::vector<std::pair<int, Int>> terms{};
  bool overflow = false;  // a number of it passed kUnbounded: nothing is known of its value

  bool is_constant() const { return terms.empty() && !overflow; }
  friend bool operator==(const Linear&, const Linear&) = default;
  friend auto operator<=>(const Linear&, const Linear&) = default;
};
Linear add(const Linear& a, const Linear& b, Int factor = 1);  // a + factor * b
Linear scaled(const Linear& a, Int factor);
inline Linear plus(Linear a, Int constant) {
  a.constant += constant;
  return a;
}

enum class AtomKind : std::uint8_t { digit, div, mod, min, max, abs, table, choice, opaque };

struct Atom {
  AtomKind kind = AtomKind::digit;
  Linear a{}, b{};  // operands; table: the index
  Int divisor = 0;  // div, mod
  const TableRanges* table = nullptr;
  int condition = -1;           // choice: tree node; a where it holds, else b
  Expressions::Id source = -1;  // opaque: evaluated as a range over the box; choice: the condition
  unsigned sides = 0;           // bit 0: q, bit 1: k
  std::uint64_t inputs = 0;     // atoms that its value depends on, a bit each; the last stands for all from 63 on
  Progression global{};         // over the whole domain
};

inline std::uint64_t atom_bit(int atom) { return std::uint64_t{1} << std::min(atom, 63); }

// `(f - offset) mod period < length`
struct Periodic {
  Int period, offset, length;
  friend bool operator==(const Periodic&, const Periodic&) = default;
  friend auto operator<=>(const Periodic&, const Periodic&) = default;
};

// What one form (a linear form without constant, first coefficient positive) must satisfy.
struct Constraint {
  int form = -1;
  Int lo = -kUnbounded, hi = kUnbounded;
  std::vector<Periodic> periodics{};
  friend bool operator==(const Constraint&, const Constraint&) = default;
};

struct TreeNode {
  enum Kind : std::uint8_t { never, always, leaf, all_of, any_of } kind;
  int left = -1, right = -1;
  Constraint constraint;
};

// The domain of the analysis: the tokens of both sides in the digits they are written in. Tiles do not matter to it.
struct Domain {
  TokenOrder queries, keys;  // keys end at the bound, where they are bounded
  Domain(Int query_length, Int key_length) : queries(query_length), keys(key_length) {}
  Domain(TokenOrder q, TokenOrder k) : queries(std::move(q)), keys(std::move(k)) {}
  const TokenOrder& side(int s) const { return s == 0 ? queries : keys; }
};

// Lowers one predicate. What does not depend on q and k (lengths, scalars, head and batch where they are not bound) are
// atoms of neither side. Its trees hold for digits that are tokens: a live pair is
// of two tokens, and a dead one of a query that is a token with a key that is dead or no token.
class Lowering {
 public:
  Lowering(Expressions& expressions, Expressions::Id root, const Domain& domain);

  int tree(bool negated) { return negated ? negative_ : positive_; }

  // The same constraint where x - y, or x alone where y is -1, is known to be `value`, if that leaves its form.
  Constraint with_known(const Constraint& c, int x, int y, Int value);

  const std::vector<Atom>& atoms() const { return atoms_; }
  const std::vector<Linear>& forms() const { return forms_; }
  const TreeNode& node(int id) const { return tree_[id]; }
  int digits() const { return domain_.queries.digits() + domain_.keys.digits(); }
  int first_digit(int side) const { return side == 0 ? 0 : domain_.queries.digits(); }
  const Domain& domain() const { return domain_; }
  // Ranges of the tokens that have these digits.
  template <class Of>
  PositionRanges ranges(const Of& of) const;

  // Value of a linear form, of an atom's definition, when atoms have the values `of`. Everything if it overflows.
  template <class Of>
  Progression value(const Linear& form, const Of& of) const;
  Progression atom_value(const Atom& atom, const Progression* of) const;

 private:
  Linear linear(Expressions::Id id);
  Linear lower(Expressions::Id id);
  Linear quotient(const Linear& a, Int divisor, bool remainder);
  std::optional<Linear> carry_free(const Linear& whole, const Linear& rest, Int divisor, bool remainder);
  Linear table(Expressions::Id id);
  Linear opaque(Expressions::Id id);
  Linear atom(Atom atom);
  Linear position(int side) const;
  Progression global(const Linear& form) const;
  void cut_to_suffix(const Linear& form, int side, Progression& range) const;
  int valid(int side, bool negated);

  int boolean(Expressions::Id id, bool negated);
  int compare(const Expressions::Node& node, bool negated);
  int within(Linear form, Int lo, Int hi);  // lo <= form <= hi
  int expanded(const Linear& form, std::size_t term, Int lo, Int hi);
  int periodic(const Linear& form, Periodic p);
  int all_of(int a, int b);
  int any_of(int a, int b);
  int make(TreeNode node);
  int form_of(Linear form, Int& sign, Int& constant);

  Expressions& expressions_;
  Domain domain_;
  std::vector<Atom> atoms_;
  std::vector<Linear> forms_;
  std::vector<TreeNode> tree_;
  std::map<Expressions::Id, Linear> lowered_;
  std::map<std::pair<Expressions::Id, bool>, int> booleans_;
  std::map<std::vector<std::pair<int, Int>>, int> form_index_;
  mutable std::vector<Range> scratch_;
  bool tokens_only_ = true;  // digits are those of tokens: what global() may count on
  int positive_ = -1, negative_ = -1;
};

template <class Of>
PositionRanges Lowering::ranges(const Of& of) const {
  PositionRanges ranges{};
  for (int side = 0; side < 2; ++side) {
    const TokenOrder& order = domain_.side(side);
    Int lo = 0, hi = 0;
    for (int i = 0; i < order.digits(); ++i) {
      const Progression x = of(first_digit(side) + i);
      lo += order.weight(i) * x.lo, hi += order.weight(i) * x.hi;
    }
    const Int last = std::max<Int>(order.tokens(), 1) - 1;
    ranges[side == 0 ? at_q : at_k] = {static_cast<double>(std::min(lo, last)),
                                       static_cast<double>(std::min(hi, last))};
  }
  return ranges;
}

template <class Of>
Progression Lowering::value(const Linear& form, const Of& of) const {
  if (form.overflow) return Progression::everything();
  Progression sum = Progression::point(form.constant);
  for (const auto& [atom, factor] : form.terms) {
    const Progression x = of(atom);
    Int step = 0;
    if (!accumulate(sum.lo, factor > 0 ? x.lo : x.hi, factor) ||
        !accumulate(sum.hi, factor > 0 ? x.hi : x.lo, factor) || !accumulate(step, x.step, factor))
      return Progression::everything();
    sum.step = std::gcd(sum.step, step);
  }
  if (sum.lo == sum.hi) sum.step = 0;
  return sum;
}

}  // namespace tessera::mask
