#include <tessera/dsl/mask/digit_spans.h>

#include <fmt/format.h>

#include <tessera/dsl/mask/key_bounds.h>
#include <tessera/dsl/mask/normal_form.h>
#include <tessera/dsl/mask/token_order.h>

namespace tessera::mask {

using ir::OpCode;
using Id = Expressions::Id;

namespace {

// Least and greatest value, as sums of expressions.
struct Bounds {
  Linear lo, hi;
};

Linear plus(Linear sum, Int constant) {
  sum.constant += constant;
  return sum;
}

Linear only(Id id) { return {0, {{id, 1}}}; }

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

Bounds SymbolicBoxes::atom_value(int id) {
  if (id < lowering_.digits()) return digit(id);
  const Atom& atom = lowering_.atoms()[id];
  Expressions& e = s_.expressions();
  if (atom.sides == 0 && atom.kind == AtomKind::opaque) {
    const Linear symbol = e[atom.source].dtype == DType::i1 ? only(e.select(atom.source, e.constant(1), e.constant(0)))
                                                            : sum_of(e, atom.source);
    return {symbol, symbol};
  }
  switch (atom.kind) {
    case AtomKind::div: {
      const Bounds a = value(atom.a);
      return {s_.quotient(a.lo, atom.divisor), s_.quotient(a.hi, atom.divisor)};
    }
    case AtomKind::mod: {
      const Bounds a = value(atom.a);
      const Int c = atom.divisor;
      const Linear low = scaled(s_.quotient(a.lo, c), c), high = scaled(s_.quotient(a.hi, c), c);
      const Id one_period = s_.at_most(high, low);
      return {s_.select(one_period, add(a.lo, low, -1), {}), s_.select(one_period, add(a.hi, high, -1), {c - 1, {}})};
    }
    case AtomKind::min:
    case AtomKind::max: {
      const Bounds a = value(atom.a), b = value(atom.b);
      if (atom.kind == AtomKind::min) return {s_.min(a.lo, b.lo), s_.min(a.hi, b.hi)};
      return {s_.max(a.lo, b.lo), s_.max(a.hi, b.hi)};
    }
    case AtomKind::abs: {
      const Bounds a = value(atom.a);
      return {s_.max(s_.max(a.lo, scaled(a.hi, -1)), {}), s_.max(scaled(a.lo, -1), a.hi)};
    }
    default:
      throw NoClosedForm{fmt::format("{}: no closed form of its range",
                                     atom.source < 0 ? "a table or choice" : e.describe(atom.source))};
  }
}

void SymbolicBoxes::solve(const Linear& form, const Constraint& c) { require(form, bound_of(c.lo), bound_of(c.hi)); }

// lo <= form <= hi, for the keys; for the queries too where there is no key in it, or one that is given.
void SymbolicBoxes::require(const Linear& form, const std::optional<Linear>& lo, const std::optional<Linear>& hi) {
  const int outermost = lowering_.first_digit(1);
  const bool keys = has_key(form), given = bound_ && std::any_of(form.terms.begin(), form.terms.end(),
                                                                 [&](const auto& t) { return t.first == outermost; });
  for (const auto& [atom, factor] : form.terms) {
    const unsigned sides = lowering_.atoms()[atom].sides;
    if (sides == 0 || (keys && !given && !(sides & 2))) continue;
    const Bounds rest = value(form, atom);
    std::optional<Linear> least, most;
    if (lo) (factor > 0 ? least : most) = add(*lo, rest.hi, -1);
    if (hi) (factor > 0 ? most : least) = add(*hi, rest.lo, -1);
    const Int size = std::abs(factor);
    if (factor < 0) {
      if (least) least = scaled(*least, -1);
      if (most) most = scaled(*most, -1);
    }
    if (least) least = s_.ceil_quotient(*least, size);
    if (most) most = s_.quotient(*most, size);
    cut(atom, least, most);
  }
}

void SymbolicBoxes::cut(int id, const std::optional<Linear>& lo, const std::optional<Linear>& hi) {
  if (id < lowering_.digits()) {
    Bounds& x = values_[static_cast<std::size_t>(id)];
    if (lo) x.lo = s_.max(x.lo, *lo);
    if (hi) x.hi = s_.min(x.hi, *hi);
    if (is_query_digit(id)) cut_queries_ |= atom_bit(id);
    return;
  }
  const Atom& atom = lowering_.atoms()[id];
  switch (atom.kind) {
    case AtomKind::div: {
      std::optional<Linear> from, to;
      if (lo) from = scaled(*lo, atom.divisor);
      if (hi) to = plus(scaled(*hi, atom.divisor), atom.divisor - 1);
      return require(atom.a, from, to);
    }
    case AtomKind::min:
      if (lo) require(atom.a, lo, std::nullopt), require(atom.b, lo, std::nullopt);
      return;
    case AtomKind::max:
      if (hi) require(atom.a, std::nullopt, hi), require(atom.b, std::nullopt, hi);
      return;
    case AtomKind::abs:
      if (hi) require(atom.a, scaled(*hi, -1), hi);
      return;
    default: return;
  }
}

bool SymbolicBoxes::solve_for_all(const Linear& form, const std::optional<Linear>& lo,
                                  const std::optional<Linear>& hi) {
  const int base = lowering_.first_digit(1);
  for (const auto& [id, factor] : form.terms) {
    const Atom& atom = lowering_.atoms()[id];
    if (!(atom.sides & 2)) continue;
    int digit = id;
    Int divisor = 1, offset = 0;
    if (atom.kind == AtomKind::div && atom.a.terms.size() == 1 && atom.a.terms[0].second == 1) {
      digit = atom.a.terms[0].first, divisor = atom.divisor, offset = atom.a.constant;
    }
    if (digit < base || digit >= lowering_.digits()) return false;
    if ((pinned_ & atom_bit(id)) && keys_in(form) > 1) continue;
    const Bounds rest = value(form, id);
    std::optional<Linear> least, most;
    if (lo) (factor > 0 ? least : most) = add(*lo, rest.lo, -1);
    if (hi) (factor > 0 ? most : least) = add(*hi, rest.hi, -1);
    const Int size = std::abs(factor);
    if (factor < 0) {
      if (least) least = scaled(*least, -1);
      if (most) most = scaled(*most, -1);
    }
    Bounds& x = values_[static_cast<std::size_t>(digit)];
    if (least) x.lo = s_.max(x.lo, plus(scaled(s_.ceil_quotient(*least, size), divisor), -offset));
    if (most) x.hi = s_.min(x.hi, plus(scaled(s_.quotient(*most, size), divisor), divisor - 1 - offset));
    return true;
  }
  return false;
}

struct Arguments {
  std::vector<std::pair<std::string, int>> list;  // names and positions
};

Arguments query_arguments(int digits) {
  Arguments a;
  for (int i = 0; i < digits; ++i) {
    const std::string suffix = digits > 1 ? fmt::format("_{}", i) : "";
    a.list.emplace_back("first" + suffix, first_of(i));
    a.list.emplace_back("last" + suffix, last_of(i));
  }
  return a;
}

void add_call_arguments(Arguments& a) {
  for (const auto& [name, where] : {std::pair{"head", at_head},
                                    {"batch", at_batch},
                                    {"query_length", at_query_length},
                                    {"key_length", at_key_length},
                                    {"key_bound", at_key_bound}})
    a.list.emplace_back(name, where);
}

ir::Function emitted(const Expressions& e, const std::string& name, const Arguments& arguments,
                     const std::vector<Id>& roots) {
  ir::Function f;
  f.name = name;
  f.params = e.source().function.params;
  std::array<ir::Value, kPositionCount> at{};
  for (const auto& [argument, where] : arguments.list) {
    at[static_cast<std::size_t>(where)] = f.graph.add_value(ir::Type::scalar(DType::i32), argument);
    f.graph.entry.args.push_back(at[static_cast<std::size_t>(where)]);
  }
  ir::Builder into(f.graph, f.graph.entry, e.source().loc);
  into.yield(e.emit(roots, at, into));
  return f;
}

// A predicate in open lengths: the outermost digits end where the call says.
struct OpenProblem {
  Expressions e;
  TokenOrder queries, keys;
  Lowering lowering;
  std::optional<std::vector<Term>> terms;

  static Int open(const Order& order) {
    const Int weight = order.digits.front().weight;
    return std::max<Int>(kOpenLength / weight, 1) * weight;
  }
  OpenProblem(const Pointwise& predicate, const Order& q, const Order& k)
      : e(limited(predicate)),
        queries(q, open(q)),
        keys(k, open(k)),
        lowering(e, e.body({}, false), Domain(queries, keys)),
        terms(NormalForm(lowering, kMaxDigitSpans).terms(lowering.tree(false))) {
    for (int i = 1; i < queries.digits(); ++i) {
      e.limit(first_of(i), queries.extent(i) - 1);
      e.limit(last_of(i), queries.extent(i) - 1);
    }
  }
  static Expressions limited(const Pointwise& predicate) {
    Expressions e(predicate);
    e.limit(kOpenLength);
    return e;
  }
  // Why terms have no closed form; empty if they do.
  std::string obstacle() const {
    if (!terms) return fmt::format("a union of more than {} boxes of keys", kMaxDigitSpans);
    for (const Term& term : *terms)
      for (const Constraint& c : term)
        for (const auto& [id, factor] : lowering.forms()[c.form].terms)
          if (const std::string why = obstacle_in(id); !why.empty()) return why;
    return {};
  }
  std::string obstacle_in(int id) const {
    const Atom& atom = lowering.atoms()[id];
    if (atom.kind == AtomKind::table) return "a table look-up";
    if (atom.kind == AtomKind::choice) return "a choice that a comparison does not settle";
    if (atom.kind == AtomKind::opaque && atom.sides != 0)
      return e.describe(atom.source) + ": nothing follows for a key";
    for (const Linear* part : {&atom.a, &atom.b})
      for (const auto& [inner, factor] : part->terms)
        if (const std::string why = obstacle_in(inner); !why.empty()) return why;
    return {};
  }
};

void set_queries(SymbolicBoxes& boxes, OpenProblem& p) {
  for (int i = 0; i < p.queries.digits(); ++i)
    boxes.set(i, {only(p.e.position(first_of(i))), only(p.e.position(last_of(i)))});
}

// Key digits as free as they are.
void set_keys(SymbolicBoxes& boxes, OpenProblem& p, bool nested) {
  Symbols& s = boxes.symbols();
  const int base = p.queries.digits();
  for (int i = 0; i < p.keys.digits(); ++i) {
    Bounds x{{}, {p.keys.extent(i) - 1, {}}};
    if (i == 0) {
      x.hi = plus(s.ceil_quotient(only(p.e.position(at_key_bound)), p.keys.weight(0)), -1);
      if (nested) {
        x.lo = only(p.e.position(first_of_key(0)));
        x.hi = s.min(x.hi, only(p.e.position(last_of_key(0))));
      }
    }
    boxes.set(base + i, x);
  }
}

// The five values of one digit of a box.
void add_digit(std::vector<Id>& roots, Symbols& s, const Bounds& live, const Bounds& full, Id possible, Id certain,
               const OrderDigit& digit, Anchor anchor) {
  const Linear start = anchor == Anchor::row ? live.lo : Linear{-Int{digit.origin}, {}};
  const Linear from = add(live.lo, start, -1), to = add(live.hi, start, -1);
  const Linear begin = s.quotient(from, digit.tile);
  const Id some = s.both(possible, s.at_most(live.lo, live.hi));
  const Linear end = s.select(some, plus(s.quotient(to, digit.tile), 1), begin);
  const Linear full_from = s.ceil_quotient(add(full.lo, start, -1), digit.tile);
  const Linear full_to = s.select(certain, s.quotient(plus(add(full.hi, start, -1), 1), digit.tile), begin);
  const Linear full_begin = s.max(begin, s.min(full_from, end));
  const Linear full_end = s.max(full_begin, s.min(full_to, end));
  for (const Linear* value : {&start, &begin, &full_begin, &full_end, &end}) roots.push_back(s.id(*value));
}

}  // namespace

std::optional<DigitSpans> digit_spans(const Pointwise& predicate, const Order& queries, const Order& keys,
                                      const SpanOptions& options, std::string& reason) {
  OpenProblem p(predicate, queries, keys);
  if (reason = p.obstacle(); !reason.empty()) return std::nullopt;
  DigitSpans spans;
  const int base = p.queries.digits(), from = options.nested ? 1 : 0;
  spans.boxes = static_cast<int>(p.terms->size());
  spans.digits = p.keys.digits() - from;
  std::vector<Id> roots;
  try {
    for (const Term& term : *p.terms) {
      SymbolicBoxes live(p.e, p.lowering, options.nested), full(p.e, p.lowering, options.nested);
      set_queries(live, p), set_keys(live, p, options.nested);
      Id possible = live.narrow(term);
      if (!options.whole_keys) live.end_keys(plus(only(p.e.position(at_key_bound)), -1));
      set_queries(full, p), set_keys(full, p, options.nested);
      Id certain;
      const bool known = full.certain(term, certain);
      if (!known) certain = p.e.constant(0, DType::i1);
      if (!options.whole_keys) full.end_all_keys(plus(only(p.e.position(at_key_bound)), -1));
      Symbols& s = live.symbols();
      if (options.nested) {  // the bound digit: some of its values, all of them, and none cut off
        const Linear first = only(p.e.position(first_of_key(0))), last = only(p.e.position(last_of_key(0)));
        possible = s.both(possible, s.at_most(live.digit(base).lo, live.digit(base).hi));
        certain = s.both(certain, s.both(s.at_most(full.digit(base).lo, first), s.at_most(last, full.digit(base).hi)));
        certain = s.both(certain, s.at_most(plus(first, keys.digits[0].tile - 1), last));
      }
      const SymbolicBoxes& inner = known ? full : live;
      for (int i = from; i < p.keys.digits(); ++i)
        add_digit(roots, s, live.digit(base + i), inner.digit(base + i), possible, certain,
                  keys.digits[static_cast<std::size_t>(i)], options.anchor);
      for (const Constraint& c : term) spans.exact &= c.periodics.empty();
    }
  } catch (const NoClosedForm& why) {
    reason = why.reason;
    return std::nullopt;
  }
  Arguments arguments = query_arguments(base);
  add_call_arguments(arguments);
  if (options.nested) {
    arguments.list.emplace_back("outer_first", first_of_key(0));
    arguments.list.emplace_back("outer_last", last_of_key(0));
  }
  spans.bounds = emitted(p.e, "key_tiles", arguments, roots);
  return spans;
}

std::optional<ir::Function> tile_guard(const Pointwise& predicate, const Order& queries, const Order& keys,
                                       std::string& reason) {
  OpenProblem p(predicate, queries, keys);
  if (reason = p.obstacle(); !reason.empty()) return std::nullopt;
  for (int i = 1; i < p.keys.digits(); ++i) {
    p.e.limit(first_of_key(i), p.keys.extent(i) - 1);
    p.e.limit(last_of_key(i), p.keys.extent(i) - 1);
  }
  SymbolicBoxes tile(p.e, p.lowering, false);
  Symbols& s = tile.symbols();
  set_queries(tile, p);
  Arguments arguments = query_arguments(p.queries.digits());
  for (int i = 0; i < p.keys.digits(); ++i) {
    tile.set(p.queries.digits() + i, {only(p.e.position(first_of_key(i))), only(p.e.position(last_of_key(i)))});
    arguments.list.emplace_back(fmt::format("key_first_{}", i), first_of_key(i));
    arguments.list.emplace_back(fmt::format("key_last_{}", i), last_of_key(i));
  }
  add_call_arguments(arguments);
  Id possible = s.flag(false), certain = s.flag(false);
  try {
    for (const Term& term : *p.terms) {
      Id some = s.flag(true), all = s.flag(true);
      for (const Constraint& c : term) some = s.both(some, tile.feasible(c)), all = s.both(all, tile.always(c));
      possible = s.either(possible, some), certain = s.either(certain, all);
    }
    const Linear past = plus(only(p.e.position(last_of_key(0))), 1), bound = only(p.e.position(at_key_bound));
    certain = s.both(certain, s.at_most(scaled(past, p.keys.weight(0)), bound));
  } catch (const NoClosedForm& why) {
    reason = why.reason;
    return std::nullopt;
  }
  return emitted(p.e, "tile_guard", arguments, {possible, certain});
}

}  // namespace tessera::mask
