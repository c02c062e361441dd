#include <tessera/dsl/mask/digit_spans.h>

#include <fmt/format.h>

#include <tessera/dsl/mask/key_bounds.h>
#include <tessera/dsl/mask/normal_form.h>
#include <tessera/dsl/mask/symbolic_boxes.h>
#include <tessera/dsl/mask/token_order.h>

namespace tessera::mask {

using namespace symbolic;

namespace {

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

// The five values of one digit of a box. `known`: it may have full tiles.
void add_digit(std::vector<Id>& roots, Symbols& s, const Bounds& live, const Bounds& full, Id possible, Id certain,
               bool known, const OrderDigit& digit, Anchor anchor) {
  const Linear start = anchor == Anchor::row ? live.lo : Linear{-Int{digit.origin}, {}};
  const Linear from = add(live.lo, start, -1), to = add(live.hi, start, -1);
  const Linear begin = s.quotient(from, digit.tile);
  const Id some = s.both(possible, s.at_most(live.lo, live.hi));
  const Linear end = s.select(some, plus(s.quotient(to, digit.tile), 1), begin);
  const Linear full_from = s.ceil_quotient(add(full.lo, start, -1), digit.tile);
  const Linear full_to = s.select(certain, s.quotient(plus(add(full.hi, start, -1), 1), digit.tile), begin);
  const Linear full_begin = s.max(begin, s.min(full_from, end));
  const Linear full_end = known ? s.max(full_begin, s.min(full_to, end)) : full_begin;
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
        add_digit(roots, s, live.digit(base + i), inner.digit(base + i), possible, certain, known,
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
  spans.expressions = std::make_shared<const Expressions>(std::move(p.e));
  spans.roots = std::move(roots);
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
