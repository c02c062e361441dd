#include <tessera/dsl/mask/normal_form.h>

namespace tessera::mask {

namespace {

constexpr int kMaxJumps = 64;
constexpr int kMaxSteps = 256;

// Moves x up to the next value all periodics admit. False when it passes `end`.
bool next_admitted(Int& x, Int end, const std::vector<Periodic>& periodics) {
  for (int jump = 0; jump < kMaxJumps; ++jump) {
    bool moved = false;
    for (const Periodic& p : periodics) {
      const Int r = floor_mod(x - p.offset, p.period);
      if (r >= p.length) x += p.period - r, moved = true;
    }
    if (x > end) return false;
    if (!moved) return true;
  }
  return true;
}

// Everything that satisfies `a` satisfies `b`.
bool implies(const Term& a, const Term& b) {
  for (const Constraint& weak : b) {
    const auto strong = std::find_if(a.begin(), a.end(), [&](const Constraint& c) { return c.form == weak.form; });
    if (strong == a.end() || strong->lo < weak.lo || strong->hi > weak.hi) return false;
    for (const Periodic& p : weak.periodics)
      if (std::find(strong->periodics.begin(), strong->periodics.end(), p) == strong->periodics.end()) return false;
  }
  return true;
}

}  // namespace

bool feasible(Progression values, const Constraint& c) {
  if (!values.clip(c.lo, c.hi)) return false;
  if (c.periodics.empty()) return true;
  if (values.step <= 1) {
    Int x = values.lo;
    return next_admitted(x, values.hi, c.periodics);
  }
  Int x = values.lo;
  for (int i = 0; i < kMaxSteps; ++i, x += values.step) {
    if (x > values.hi) return false;
    bool admitted = true;
    for (const Periodic& p : c.periodics) admitted &= floor_mod(x - p.offset, p.period) < p.length;
    if (admitted) return true;
  }
  return true;
}

bool NormalForm::merge(Term& into, const Constraint& c) const {
  auto at =
      std::lower_bound(into.begin(), into.end(), c.form, [](const Constraint& x, int form) { return x.form < form; });
  if (at == into.end() || at->form != c.form) {
    at = into.insert(at, c);
  } else {
    at->lo = std::max(at->lo, c.lo);
    at->hi = std::min(at->hi, c.hi);
    for (const Periodic& p : c.periodics)
      if (std::find(at->periodics.begin(), at->periodics.end(), p) == at->periodics.end()) at->periodics.push_back(p);
  }
  const Progression range =
      lowering_.value(lowering_.forms()[c.form], [&](int a) { return lowering_.atoms()[a].global; });
  return feasible(range, *at);
}

bool NormalForm::add(std::vector<Term>& terms, Term term) const {
  for (const Term& t : terms)
    if (implies(term, t)) return true;
  std::erase_if(terms, [&](const Term& t) { return implies(t, term); });
  terms.push_back(std::move(term));
  return terms.size() <= cap_;
}

NormalForm::Terms NormalForm::join(const std::vector<Term>& a, const std::vector<Term>& b) const {
  std::vector<Term> result;
  for (const Term& x : a) {
    for (const Term& y : b) {
      Term both = x;
      bool possible = true;
      for (const Constraint& c : y)
        if (!(possible = merge(both, c))) break;
      if (possible && !add(result, std::move(both))) return std::nullopt;
    }
  }
  return result;
}

const NormalForm::Terms& NormalForm::expand(int tree) {
  if (auto it = memo_.find(tree); it != memo_.end()) return it->second;
  const TreeNode& node = lowering_.node(tree);
  Terms result;
  switch (node.kind) {
    case TreeNode::never: result.emplace(); break;
    case TreeNode::always: result.emplace(1, Term{}); break;
    case TreeNode::leaf: result.emplace(1, Term{node.constraint}); break;
    case TreeNode::all_of:
    case TreeNode::any_of: {
      const Terms a = expand(node.left), b = expand(node.right);
      if (!a || !b) break;
      if (node.kind == TreeNode::all_of) {
        result = join(*a, *b);
        break;
      }
      result = a;
      for (const Term& term : *b)
        if (result && !add(*result, term)) result.reset();
      break;
    }
  }
  return memo_[tree] = std::move(result);
}

bool NormalForm::use_equalities(Term& term) {
  for (std::size_t i = 0; i < term.size(); ++i) {
    const Constraint equal = term[i];
    const auto& atoms = lowering_.forms()[equal.form].terms;
    const bool one = atoms.size() == 1, two = atoms.size() == 2 && atoms[1].second == -1;
    if (equal.lo != equal.hi || !(one || two) || atoms[0].second != 1) continue;
    const int x = atoms[0].first, y = two ? atoms[1].first : -1;
    Term rest;
    bool changed = false;
    for (const Constraint& c : term) {
      const Constraint simpler = c.form == equal.form ? c : lowering_.with_known(c, x, y, equal.lo);
      changed |= simpler.form != c.form;
      if (!merge(rest, simpler)) return false;
    }
    if (changed) term = std::move(rest), i = std::size_t(-1);
  }
  return true;
}

std::optional<std::vector<Term>> NormalForm::terms(int tree) {
  Terms result = expand(tree);
  if (result) std::erase_if(*result, [&](Term& term) { return !use_equalities(term); });
  if (result)  // forms of one digit decide fastest
    for (Term& term : *result)
      std::stable_sort(term.begin(), term.end(), [&](const Constraint& a, const Constraint& b) {
        return lowering_.forms()[a.form].terms.size() < lowering_.forms()[b.form].terms.size();
      });
  return result;
}

}  // namespace tessera::mask
