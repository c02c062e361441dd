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

// Only what changed since the box before: descents halve one digit at a time.
void BoxAnalysis::evaluate(const Box& box) {
  const int digits = lowering_.digits();
  std::uint64_t changed = 0;
  for (int i = 0; i < digits; ++i) {
    if (evaluated_once_ && box.lo[i] == evaluated_.lo[i] && box.hi[i] == evaluated_.hi[i]) continue;
    values_[i] = Progression::range(box.lo[i], box.hi[i]);
    changed |= atom_bit(i);
  }
  const std::vector<Atom>& atoms = lowering_.atoms();
  for (std::size_t i = digits; i < atoms.size(); ++i) {
    if (evaluated_once_ && !(atoms[i].inputs & changed)) continue;
    values_[i] = lowering_.atom_value(atoms[i], values_.data());
    changed |= atom_bit(static_cast<int>(i));
  }
  evaluated_ = box, evaluated_once_ = true;
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
  const auto digit = [&](int i) { return Progression::range(box.lo[i], box.hi[i]); };
  const Range r = expressions_.range(root_, lowering_.ranges(digit), scratch_);
  if (r.hi == 0) return Verdict::empty;
  return r.lo == 1 && only_keys(box) ? Verdict::full : Verdict::partial;
}

bool BoxAnalysis::holds_token(const Box& box, int side) const {
  const TokenOrder& order = lowering_.domain().side(side);
  Digits least{};
  for (int i = 0; i < order.digits(); ++i) least[i] = box.lo[lowering_.first_digit(side) + i];
  return order.valid(least);
}

bool BoxAnalysis::only_keys(const Box& box) const {
  const TokenOrder& order = lowering_.domain().keys;
  Digits most{};
  for (int i = 0; i < order.digits(); ++i) most[i] = box.hi[lowering_.first_digit(1) + i];
  return order.valid(most);
}

BoxAnalysis::Seen BoxAnalysis::probe(const Box& point) {
  if (!holds_token(point, 0)) return Seen::nothing;
  if (!holds_token(point, 1)) return Seen::dead;
  const auto digit = [&](int i) { return Progression::point(point.lo[i]); };
  const Range r = expressions_.range(root_, lowering_.ranges(digit), scratch_);
  return !r.is_point() ? Seen::unknown : r.lo != 0 ? Seen::live : Seen::dead;
}

// The first corners, then points by xorshift from a seed that depends on the box alone: the same plan on every run.
BoxAnalysis::Seen BoxAnalysis::probe(const Box& box, int which) {
  Box point = box;
  for (int i = 0; i < lowering_.digits(); ++i) {
    Int& at = point.lo[i];
    if (which < 4) {
      if (i < lowering_.first_digit(1) ? which & 1 : which & 2) at = box.hi[i];
    } else {
      random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
      at += static_cast<Int>(random_ % static_cast<std::uint64_t>(box.hi[i] - box.lo[i] + 1));
    }
  }
  point.hi = point.lo;
  return probe(point);
}

Verdict BoxAnalysis::decide(const Box& box) {
  const Verdict verdict = classify(box);
  return verdict == Verdict::partial ? refine(box) : verdict;
}

Verdict BoxAnalysis::refine(const Box& box) {
  random_ = 88172645463325252ull;
  for (int i = 0; i < lowering_.digits(); ++i)
    random_ = (random_ << 23 | random_ >> 41) ^ static_cast<std::uint64_t>(box.lo[i] + 1);
  bool live = false, dead = false;
  for (int i = 0; i < 4 + kProbes; ++i) {
    const Seen seen = probe(box, i);
    if (seen == Seen::unknown) return Verdict::partial;
    live |= seen == Seen::live, dead |= seen == Seen::dead;
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
    if (queries_first)
      for (int i = 0; i < lowering_.first_digit(1); ++i) consider(i);
    if (digit < 0)
      for (int i = 0; i < lowering_.digits(); ++i) consider(i);
    if (digit < 0) return false;  // a point that cannot be decided: data of the call
    const Int middle = at.lo[digit] + (at.hi[digit] - at.lo[digit]) / 2;
    for (int half = 0; half < 2; ++half) {
      if (budget-- == 0) return false;
      Box part = at;
      (half ? part.lo[digit] : part.hi[digit]) = half ? middle + 1 : middle;
      if (!holds_token(part, 0)) continue;
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
