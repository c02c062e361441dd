#include <tessera/dsl/mask/box_analysis.h>

namespace tessera::mask {

namespace {
constexpr int kSplitBudget = 64;
constexpr int kRowBudget = 512;
constexpr int kProbes = 4;
}  // namespace

BoxAnalysis::BoxAnalysis(Expressions& expressions, Expressions::Id root, const Domain& domain, std::size_t cap)
    : expressions_(expressions),
      root_(root),
      lowering_(expressions, root, domain),
      normal_(lowering_, cap),
      live_(normal_.terms(lowering_.tree(false))) {
  values_.resize(lowering_.atoms().size());
}

void BoxAnalysis::evaluate(const Box& box) {
  const int digits = lowering_.digits();
  for (int i = 0; i < digits; ++i) values_[i] = Progression::range(box.lo[i], box.hi[i]);
  const std::vector<Atom>& atoms = lowering_.atoms();
  for (std::size_t i = digits; i < atoms.size(); ++i) values_[i] = lowering_.atom_value(atoms[i], values_.data());
}

bool BoxAnalysis::dead(const Term& term) {
  for (const Constraint& c : term)
    if (!feasible(value(lowering_.forms()[c.form], values_), c)) return true;
  if (term.size() < 2) return false;
  working_ = values_;
  return !propagate(term, working_);
}

bool BoxAnalysis::all_dead(const std::vector<Term>& terms) {
  return std::all_of(terms.begin(), terms.end(), [&](const Term& t) { return dead(t); });
}

Verdict BoxAnalysis::classify(const Box& box) {
  if (!dead_made_ && live_) {
    dead_ = normal_.terms(lowering_.tree(true));
    dead_made_ = true;
  }
  if (live_ || dead_) evaluate(box);
  if (live_ && all_dead(*live_)) return Verdict::empty;
  if (dead_ && all_dead(*dead_)) return Verdict::full;
  if (live_ && dead_) return Verdict::partial;
  const Range r = expressions_.range(
      root_, lowering_.ranges(Progression::range(box.lo[0], box.hi[0]), Progression::range(box.lo[1], box.hi[1])),
      scratch_);
  return r.hi == 0 ? Verdict::empty : r.lo == 1 ? Verdict::full : Verdict::partial;
}

BoxAnalysis::Seen BoxAnalysis::probe(Int q, Int k) {
  const Range r = expressions_.range(root_, lowering_.ranges(Progression::point(q), Progression::point(k)), scratch_);
  return !r.is_point() ? Seen::unknown : r.lo != 0 ? Seen::live : Seen::dead;
}

BoxAnalysis::Seen BoxAnalysis::at_point(const Box& box, bool last_query, bool last_key) {
  return probe(last_query ? box.hi[0] : box.lo[0], last_key ? box.hi[1] : box.lo[1]);
}

// xorshift from a seed that depends on the box alone: the same plan on every run.
BoxAnalysis::Seen BoxAnalysis::at_random(const Box& box) {
  Int at[2];
  for (int i = 0; i < 2; ++i) {
    random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
    at[i] = box.lo[i] + static_cast<Int>(random_ % static_cast<std::uint64_t>(box.hi[i] - box.lo[i] + 1));
  }
  return probe(at[0], at[1]);
}

Verdict BoxAnalysis::decide(const Box& box) {
  const Verdict verdict = classify(box);
  return verdict == Verdict::partial ? refine(box) : verdict;
}

Verdict BoxAnalysis::refine(const Box& box) {
  random_ =
      88172645463325252ull ^ (static_cast<std::uint64_t>(box.lo[0]) << 32) ^ static_cast<std::uint64_t>(box.lo[1]);
  bool live = false, dead = false;
  for (int i = 0; i < 4 + kProbes; ++i) {
    const Seen seen = i < 4 ? at_point(box, i & 1, i & 2) : at_random(box);
    if (seen == Seen::unknown) return Verdict::partial;
    (seen == Seen::live ? live : dead) = true;
    if (live && dead) return Verdict::partial;
  }
  // Single query rows make every query atom exact, which settles pairs of tables.
  if (!split(box, false, kSplitBudget, live, dead) && !split(box, true, kRowBudget, live, dead))
    return Verdict::partial;
  return live && dead ? Verdict::partial : live ? Verdict::full : Verdict::empty;
}

// Splits until every part is decided, or both a live and a dead pair are known. False when the budget ran out.
bool BoxAnalysis::split(const Box& box, bool queries_first, int budget, bool& live, bool& dead) {
  std::vector<Box> open{box};
  while (!open.empty() && !(live && dead)) {
    const Box at = open.back();
    open.pop_back();
    int digit = -1;
    Int longest = 1;
    const auto consider = [&](int i) {
      const Int length = at.hi[i] - at.lo[i] + 1;
      if (length > longest) longest = length, digit = i;
    };
    if (queries_first) consider(0);
    if (digit < 0)
      for (int i = 0; i < lowering_.digits(); ++i) consider(i);
    if (digit < 0) return false;  // a point that cannot be decided: data of the call
    const Int middle = at.lo[digit] + (at.hi[digit] - at.lo[digit]) / 2;
    for (int half = 0; half < 2; ++half) {
      if (budget-- == 0) return false;
      Box part = at;
      (half ? part.lo[digit] : part.hi[digit]) = half ? middle + 1 : middle;
      const Verdict verdict = classify(part);
      if (verdict == Verdict::partial)
        open.push_back(part);
      else
        (verdict == Verdict::full ? live : dead) = true;
    }
  }
  return true;
}

}  // namespace tessera::mask
