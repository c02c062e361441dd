// Is a box of (query, key) digits without a live pair, full of them, or neither?
//
// A box is empty when every term of the predicate is infeasible on it, and full when every term of the negation is.
// Both questions are put to the same interval propagation (HC4), so "full" is as sharp as "empty". Answers are never
// wrong; "partial" may be said of a box that is not. Beyond the term cap the expression itself is evaluated over the
// box. Digits of no query do not count; those of no key are dead.
#pragma once

#include <array>

#include <tessera/dsl/mask/normal_form.h>
#include <tessera/dsl/mask/table_ranges.h>

namespace tessera::mask {

enum class Verdict : std::uint8_t { empty, partial, full };

// Closed intervals of digits, those of the query first, from the outermost.
struct Box {
  std::array<Int, kMaxDigits> lo{}, hi{};
};

class BoxAnalysis {
 public:
  // `root`: its free positions are q and k. The expressions must outlive the analysis.
  BoxAnalysis(Expressions& expressions, Expressions::Id root, const Domain& domain, std::size_t cap = kMaxTerms);

  Verdict classify(const Box& box);

  // As classify, then with witnesses and splitting under a budget: for single tiles.
  Verdict decide(const Box& box);

  // Terms of the predicate; null beyond the cap.
  const std::vector<Term>* terms() const { return live_ ? &*live_ : nullptr; }

  // What one term leaves of a box: bounds on the digits of its live pairs. False when it has none there. With the key
  // digits free these are the keys of a query tile, with the query digits free the queries of a key tile.
  bool narrow(const Term& term, const Box& box, Box& live);

  // Keys of the box that every query of the box sees by this term alone, as bounds on the key digits; lo[0] > hi[0]:
  // none. False where a periodic constraint makes a box no shape for them.
  bool certain(const Term& term, const Box& box, Digits& lo, Digits& hi);

  const Lowering& lowering() const { return lowering_; }

 private:
  enum class Seen : std::uint8_t { unknown, nothing, live, dead };  // nothing: no query has these digits
  Seen probe(const Box& point);
  Seen probe(const Box& box, int which);
  bool holds_token(const Box& box, int side) const;  // some of its digits are a token of that side
  bool only_keys(const Box& box) const;              // all of its key digits are keys
  Verdict refine(const Box& box);
  bool split(const Box& box, bool queries_first, int budget, bool& live, bool& dead);

  void evaluate(const Box& box);
  bool all_dead(const std::vector<Term>& terms);
  bool dead(const Term& term);
  bool propagate(const Term& term, std::vector<Progression>& values);
  bool require(const Linear& form, Int lo, Int hi, std::vector<Progression>& values, int depth);
  bool narrow(int atom, Int lo, Int hi, std::vector<Progression>& values, int depth);
  bool narrow_least(const Atom& atom, Int lo, Int hi, std::vector<Progression>& values, int depth);
  bool reevaluate(std::vector<Progression>& values);
  Progression value(const Linear& form, const std::vector<Progression>& of) const {
    return lowering_.value(form, [&](int a) { return of[a]; });
  }

  Expressions& expressions_;
  Expressions::Id root_;
  Lowering lowering_;
  NormalForm normal_;
  std::optional<std::vector<Term>> live_, dead_;
  bool dead_made_ = false;
  std::vector<Progression> values_, working_;  // of all atoms: on the box last evaluated; as constraints cut them
  Box evaluated_;
  bool evaluated_once_ = false;
  std::uint64_t changed_ = 0;  // atoms that propagation cut since their dependants were evaluated
  std::vector<Range> scratch_;
  std::uint64_t random_ = 0;
};

}  // namespace tessera::mask
