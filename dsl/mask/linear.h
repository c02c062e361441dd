// Linear forms over digits, constraints on them, and the boolean trees a predicate becomes.
//
// A digit is one coordinate of a token order; the identity order has one a side, the token's index. What is not linear
// in digits (a division, a table look-up) is an *atom*: an opaque summand with a range and, mostly, an inverse.
// How a predicate is lowered:
// - sums, and products with constants, stay linear; a division or remainder splits off what its divisor divides;
// - min, max, abs and select become cases where a comparison needs them, atoms elsewhere;
// - a comparison of integers is an interval constraint on one form, of a remainder with constants a periodic one;
// - what may leave i32, or the range of this arithmetic, is opaque: evaluated as a range over the box.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include <tessera/dsl/mask/expression.h>

namespace tessera::mask {

inline constexpr int kMaxDigits = 8;           // of both sides together
inline constexpr std::size_t kMaxTree = 4096;  // cases stop being told apart beyond it

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

enum class AtomKind : std::uint8_t { digit, div, mod, min, max, abs, table, choice, opaque };

struct Atom {
  AtomKind kind = AtomKind::digit;
  Linear a{}, b{};  // operands; table: the index
  Int divisor = 0;  // div, mod
  const TableRanges* table = nullptr;
  int condition = -1;           // choice: tree node; a where it holds, else b
  Expressions::Id source = -1;  // opaque: evaluated as a range over the box; choice: the condition
  unsigned sides = 0;           // bit 0: q, bit 1: k
  Progression global{};         // over the whole domain
};

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

// The domain of the analysis: token counts of both sides, and the digits they are written in.
struct Domain {
  Int query_length = 0, key_length = 0;  // key_length: the bound, where keys are bounded
};

// Lowers one predicate whose only free positions are q and k.
class Lowering {
 public:
  Lowering(Expressions& expressions, Expressions::Id root, const Domain& domain);

  int tree(bool negated) { return negated ? negative_ : positive_; }

  const std::vector<Atom>& atoms() const { return atoms_; }
  const std::vector<Linear>& forms() const { return forms_; }
  const TreeNode& node(int id) const { return tree_[id]; }
  int digits() const { return 2; }
  const Domain& domain() const { return domain_; }
  PositionRanges ranges(Progression q, Progression k) const;

  // Value of a linear form, of an atom's definition, when atoms have the values `of`. Everything if it overflows.
  template <class Of>
  Progression value(const Linear& form, const Of& of) const;
  Progression atom_value(const Atom& atom, const Progression* of) const;

 private:
  Linear linear(Expressions::Id id);
  Linear lower(Expressions::Id id);
  Linear quotient(const Linear& a, Int divisor, bool remainder);
  Linear table(Expressions::Id id);
  Linear opaque(Expressions::Id id);
  Linear atom(Atom atom);
  Progression global(const Linear& form) const;

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
  int positive_ = -1, negative_ = -1;
};

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
