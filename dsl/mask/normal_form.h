// OR of ANDs of constraints: the form in which a box is proved empty.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include <tessera/dsl/mask/linear.h>

namespace tessera::mask {

inline constexpr std::size_t kMaxTerms = 192;

using Term = std::vector<Constraint>;  // one constraint a form, sorted by form

// Some value of the progression satisfies the constraint. May err towards true.
bool feasible(Progression values, const Constraint& constraint);

// Expands a tree of `lowering` to terms: constraints on one form merge, infeasible and absorbed terms go, and what a
// term says of the difference of two atoms is used in its other constraints: residues that are equal leave the members
// of their classes. Empty optional when there would be more than `cap` terms.
class NormalForm {
 public:
  NormalForm(Lowering& lowering, std::size_t cap) : lowering_(lowering), cap_(cap) {}
  std::optional<std::vector<Term>> terms(int tree);

 private:
  using Terms = std::optional<std::vector<Term>>;
  const Terms& expand(int tree);
  Terms join(const std::vector<Term>& a, const std::vector<Term>& b) const;
  bool add(std::vector<Term>& terms, Term term) const;  // false when the cap is passed
  bool merge(Term& into, const Constraint& c) const;    // false when infeasible
  bool use_equalities(Term& term);                      // likewise

  Lowering& lowering_;
  std::size_t cap_;
  std::unordered_map<int, Terms> memo_;
};

}  // namespace tessera::mask
