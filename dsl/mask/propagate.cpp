// Interval propagation over the constraints of a term (HC4): ranges of atoms are cut to what each constraint leaves,
// and handed down through the atoms' definitions to the digits.
#include <tessera/dsl/mask/box_analysis.h>

namespace tessera::mask {

namespace {
constexpr int kRounds = 2;
constexpr int kMaxDepth = 6;

// Moves both ends to values that every periodic admits. False when they cross.
bool tighten(Int& lo, Int& hi, const std::vector<Periodic>& periodics) {
  for (const Periodic& p : periodics) {
    const Int low = floor_mod(lo - p.offset, p.period);
    if (low >= p.length) lo += p.period - low;
    const Int high = floor_mod(hi - p.offset, p.period);
    if (high >= p.length) hi -= high - p.length + 1;
  }
  return lo <= hi;
}
}  // namespace

bool BoxAnalysis::narrow(const Term& term, const Box& box, Box& live) {
  evaluate(box);
  working_ = values_;
  if (!propagate(term, working_)) return false;
  for (int i = 0; i < lowering_.digits(); ++i) live.lo[i] = working_[i].lo, live.hi[i] = working_[i].hi;
  return true;
}

namespace {

// x in `factor * ((x + offset) / divisor)`, a digit of the key.
struct KeyPart {
  int digit = -1;
  Int factor = 0, divisor = 1, offset = 0;
};

}  // namespace

// Each constraint is solved for its outermost key digit, with the queries anywhere in their box and the other key
// digits anywhere in what constraints before it left of them.
bool BoxAnalysis::certain(const Term& term, const Box& box, Digits& lo, Digits& hi) {
  evaluate(box);
  working_ = values_;
  const TokenOrder& keys = lowering_.domain().keys;
  const int base = lowering_.first_digit(1);
  for (int i = 0; i < keys.digits(); ++i) lo[i] = box.lo[base + i], hi[i] = box.hi[base + i];
  const auto key_part = [&](int id, Int factor) -> KeyPart {
    const Atom& atom = lowering_.atoms()[id];
    if (atom.kind == AtomKind::digit) return {id - base, factor};
    if (atom.kind != AtomKind::div || atom.a.terms.size() != 1 || atom.a.terms[0].second != 1 ||
        lowering_.atoms()[atom.a.terms[0].first].kind != AtomKind::digit)
      return {};
    return {atom.a.terms[0].first - base, factor, atom.divisor, atom.a.constant};
  };
  for (const Constraint& c : term) {
    if (!c.periodics.empty()) return false;
    KeyPart key;
    Linear rest;
    for (const auto& [id, factor] : lowering_.forms()[c.form].terms) {
      const bool of_key = (lowering_.atoms()[id].sides & 2) && !working_[static_cast<std::size_t>(id)].is_point();
      if (of_key && key.digit < 0 && (key = key_part(id, factor)).digit >= 0) continue;
      rest.terms.emplace_back(id, factor);
    }
    const Progression other = value(rest, working_);
    if (key.digit < 0) {
      if (other.lo < c.lo || other.hi > c.hi) lo[0] = 1, hi[0] = 0;
    } else {
      const Int least = c.lo <= -kUnbounded ? -kUnbounded : c.lo - other.lo;
      const Int most = c.hi >= kUnbounded ? kUnbounded : c.hi - other.hi;
      Int from = -kUnbounded, to = kUnbounded;
      if ((key.factor > 0 ? least : -most) > -kUnbounded) from = ceil_div(key.factor > 0 ? least : most, key.factor);
      if ((key.factor > 0 ? most : -least) < kUnbounded) to = floor_div(key.factor > 0 ? most : least, key.factor);
      if (from > -kUnbounded) lo[key.digit] = std::max(lo[key.digit], from * key.divisor - key.offset);
      if (to < kUnbounded) hi[key.digit] = std::min(hi[key.digit], to * key.divisor + key.divisor - 1 - key.offset);
    }
    for (int i = 0; i < keys.digits(); ++i) {
      if (lo[i] > hi[i]) return lo[0] = 1, hi[0] = 0, true;
      working_[static_cast<std::size_t>(base + i)] = Progression::range(lo[i], hi[i]);
    }
  }
  return true;
}

bool BoxAnalysis::propagate(const Term& term, std::vector<Progression>& values) {
  for (int round = 0; round < kRounds; ++round) {
    std::uint64_t cut = 0;
    for (const Constraint& c : term) {
      const Linear& form = lowering_.forms()[c.form];
      const Progression now = value(form, values);
      if (!feasible(now, c)) return false;
      Int lo = c.lo, hi = c.hi;
      if (!c.periodics.empty()) {
        lo = std::max(lo, now.lo), hi = std::min(hi, now.hi);
        if (!tighten(lo, hi, c.periodics)) return false;
      }
      changed_ = 0;
      if (!require(form, lo, hi, values, 0)) return false;
      cut |= changed_;
      if (changed_ && !reevaluate(values)) return false;
    }
    if (!cut) break;
  }
  return true;
}

// Atoms upwards: what their definitions now allow, intersected with what is known.
bool BoxAnalysis::reevaluate(std::vector<Progression>& values) {
  const std::vector<Atom>& atoms = lowering_.atoms();
  for (std::size_t i = lowering_.digits(); i < atoms.size(); ++i) {
    if (!(atoms[i].inputs & changed_)) continue;
    Progression now = lowering_.atom_value(atoms[i], values.data());
    if (!now.clip(values[i].lo, values[i].hi)) return false;
    if (now.lo != values[i].lo || now.hi != values[i].hi) changed_ |= atom_bit(static_cast<int>(i));
    values[i] = now;
  }
  return true;
}

// lo <= form <= hi. False when that cannot be.
bool BoxAnalysis::require(const Linear& form, Int lo, Int hi, std::vector<Progression>& values, int depth) {
  Progression sum = value(form, values);
  if (sum.lo > hi || sum.hi < lo) return false;
  if ((sum.lo >= lo && sum.hi <= hi) || sum.is_everything() || depth > kMaxDepth) return true;
  for (const auto& [atom, factor] : form.terms) {
    const Progression x = values[atom];
    const Int rest_lo = sum.lo - factor * (factor > 0 ? x.lo : x.hi),
              rest_hi = sum.hi - factor * (factor > 0 ? x.hi : x.lo);
    const Int least = lo <= -kUnbounded ? -kUnbounded : lo - rest_hi,
              most = hi >= kUnbounded ? kUnbounded : hi - rest_lo;
    Int from = x.lo, to = x.hi;
    if (factor > 0) {
      if (least > -kUnbounded) from = std::max(from, ceil_div(least, factor));
      if (most < kUnbounded) to = std::min(to, floor_div(most, factor));
    } else {
      if (most < kUnbounded) from = std::max(from, ceil_div(most, factor));
      if (least > -kUnbounded) to = std::min(to, floor_div(least, factor));
    }
    if (from > to) return false;
    if (from == x.lo && to == x.hi) continue;
    if (!narrow(atom, from, to, values, depth + 1)) return false;
    sum = value(form, values);
    if (sum.lo > hi || sum.hi < lo) return false;
  }
  return true;
}

bool BoxAnalysis::narrow(int id, Int lo, Int hi, std::vector<Progression>& values, int depth) {
  const Progression before = values[id];
  if (!values[id].clip(lo, hi)) return false;
  lo = values[id].lo, hi = values[id].hi;
  if (lo == before.lo && hi == before.hi) return true;
  changed_ |= atom_bit(id);
  const Atom& atom = lowering_.atoms()[id];
  switch (atom.kind) {
    case AtomKind::div: return require(atom.a, lo * atom.divisor, hi * atom.divisor + atom.divisor - 1, values, depth);
    case AtomKind::mod: {
      const Progression a = value(atom.a, values);
      const Int period = floor_div(a.lo, atom.divisor);
      if (period != floor_div(a.hi, atom.divisor)) return true;
      return require(atom.a, period * atom.divisor + lo, period * atom.divisor + hi, values, depth);
    }
    case AtomKind::min:
    case AtomKind::max: return narrow_least(atom, lo, hi, values, depth);
    case AtomKind::abs: {
      if (!require(atom.a, -hi, hi, values, depth)) return false;
      const Progression a = value(atom.a, values);
      if (lo > 0 && a.lo > -lo) return require(atom.a, lo, kUnbounded, values, depth);
      if (lo > 0 && a.hi < lo) return require(atom.a, -kUnbounded, -lo, values, depth);
      return true;
    }
    case AtomKind::table: {
      if (!atom.table->sorted()) return true;
      const auto [first, last] = atom.table->indices(lo, hi);
      if (first > last) return false;
      return require(atom.a, first == 0 ? -kUnbounded : first, last == atom.table->size() - 1 ? kUnbounded : last,
                     values, depth);
    }
    case AtomKind::digit:
    case AtomKind::choice:
    case AtomKind::opaque: return true;
  }
  return true;
}

// min(a, b) in [lo, hi]: both at least lo, and the one that can be at most hi is, if the other cannot. Mirrored for
// max.
bool BoxAnalysis::narrow_least(const Atom& atom, Int lo, Int hi, std::vector<Progression>& values, int depth) {
  const bool least = atom.kind == AtomKind::min;
  const Int from = least ? lo : -kUnbounded, to = least ? kUnbounded : hi;
  if (!require(atom.a, from, to, values, depth) || !require(atom.b, from, to, values, depth)) return false;
  const Progression a = value(atom.a, values), b = value(atom.b, values);
  const auto cannot = [&](Progression x) { return least ? x.lo > hi : x.hi < lo; };
  const Int other_from = least ? -kUnbounded : lo, other_to = least ? hi : kUnbounded;
  if (cannot(a)) return require(atom.b, other_from, other_to, values, depth);
  if (cannot(b)) return require(atom.a, other_from, other_to, values, depth);
  return true;
}

}  // namespace tessera::mask
