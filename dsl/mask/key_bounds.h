// What a predicate says about the key of a pair, as bounds that are arithmetic on the query tile.
//
// The predicate becomes an OR of terms; a term is an AND of `k >= e(q)`, `k <= e(q)` and conditions without k.
// Comparisons are solved for k through sums, floor division by constants, min, max, abs and choices. Over the queries
// first..last of a tile each bound has a weakest and a strongest value: some pair of the tile can be live only within
// the weak bounds, and every pair is within the strong ones.
#pragma once

#include <string>
#include <vector>

#include <tessera/dsl/mask/expression.h>
#include <tessera/dsl/mask/linear.h>

namespace tessera::mask {

// Why there is no closed form, in the user's terms.
struct NoClosedForm {
  std::string reason;
};

// A sum of expressions: Linear with expression ids for atoms.
Linear sum_of(const Expressions& e, Expressions::Id id);
Expressions::Id expression_of(Expressions& e, const Linear& sum);

struct KeyBound {
  enum Kind : std::uint8_t { lower, upper, condition } kind;
  Linear weak, strong;                          // lower, upper: bounds on k, inclusive
  Expressions::Id possible = -1, certain = -1;  // condition: for some, for every query of the tile
};

struct KeyTerm {
  std::vector<KeyBound> bounds;
  bool uncertain = false;  // also depends on data of the call: nothing in it is certain
};

class KeyBounds {
 public:
  explicit KeyBounds(Expressions& expressions) : e_(expressions) {}

  // Terms of the predicate `root`. Throws NoClosedForm.
  std::vector<KeyTerm> terms(Expressions::Id root) { return absorbed(boolean(root, false)); }

 private:
  using Terms = std::vector<KeyTerm>;
  struct Interval {
    Linear lo, hi;
  };

  Terms boolean(Expressions::Id id, bool negated);
  Terms compare(Expressions::Id id, bool negated);
  Terms at_least_zero(const Linear& sum);
  Terms cases(const Linear& rest, Int factor, Expressions::Id atom);
  Terms isolated(const Linear& rest, Int factor, Expressions::Id atom);
  Terms condition(const Linear& sum);
  Terms flag(Expressions::Id condition, bool negated);
  static Terms one(KeyBound bound) { return {KeyTerm{{std::move(bound)}, false}}; }
  static Terms all_of(const Terms& a, const Terms& b);
  static Terms any_of(Terms a, const Terms& b);
  static Terms absorbed(Terms terms);

  Interval over_tile(const Linear& sum);
  Interval over_tile(Expressions::Id id);
  bool needs_call_data(Expressions::Id id) const;
  [[noreturn]] void refuse(Expressions::Id id) const;

  Expressions& e_;
};

}  // namespace tessera::mask
