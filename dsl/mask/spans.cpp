// From key bounds to spans.
//
// A term's live keys of a tile are [lo, hi), its full keys [full_lo, full_hi), both clipped to the keys there are.
// Tiles that touch the former are visited, tiles inside the latter are full; the axis's clipped last tile is in no full
// range, since full_hi is rounded down. Ranges of several terms are ordered by their first tile, and each then starts
// where those before it ended: every tile is in one span. What an earlier span took from a later term may still be full
// by both together, so full keys of ranges that touch are joined before they are rounded to tiles.
#include <tessera/dsl/mask/spans.h>

#include <fmt/format.h>

#include <tessera/dsl/mask/key_bounds.h>

namespace tessera::mask {

using ir::OpCode;
using Id = Expressions::Id;

namespace {

// Keys, half open. `lowers` are the sums whose maximum with 0 is `lo`; known is false once ranges were mixed at run
// time.
struct KeyRange {
  Id lo, hi, full_lo, full_hi;
  std::vector<Linear> lowers;
  bool known = true;
  bool checked = false;  // lo >= hi may happen where hi > 0
};

class SpanMaker {
 public:
  SpanMaker(Expressions& e, int key_tile, bool bounded)
      : e_(e), tile_(key_tile), keys_(e.position(bounded ? at_key_bound : at_key_length)) {}

  std::vector<SpanBounds> spans(const std::vector<KeyTerm>& terms) {
    std::vector<KeyRange> ranges;
    for (const KeyTerm& term : terms) add(ranges, range_of(term));
    if (ranges.size() > kMaxSpans) throw NoClosedForm{fmt::format("a union of {} separate key ranges", ranges.size())};
    for (std::size_t pass = 0; pass + 1 < ranges.size(); ++pass)
      for (std::size_t i = 0; i + 1 < ranges.size() - pass; ++i) order(ranges[i], ranges[i + 1]);
    return disjoint(ranges);
  }

 private:
  KeyRange range_of(const KeyTerm& term);
  void add(std::vector<KeyRange>& ranges, KeyRange range);
  void order(KeyRange& a, KeyRange& b);
  std::vector<SpanBounds> disjoint(const std::vector<KeyRange>& ranges);

  bool provable(const Linear& sum) const;  // sum >= 0 whatever the tile, the lengths and the scalars
  bool starts_no_later(const KeyRange& a, const KeyRange& b) const;
  Id zero() { return e_.constant(0); }
  Id floor_tile(Id key) { return e_.div(key, tile_); }
  Id ceil_tile(Id key) { return e_.div(e_.add(key, e_.constant(tile_ - 1)), tile_); }
  Id clamp(Id x, Id from, Id to) { return e_.max(e_.min(x, to), from); }

  Expressions& e_;
  int tile_;
  Id keys_;
};

KeyRange SpanMaker::range_of(const KeyTerm& term) {
  KeyRange r{zero(), keys_, zero(), keys_, {}};
  std::vector<Linear> uppers{sum_of(e_, keys_)};
  Id possible = e_.constant(1, DType::i1), certain = e_.constant(term.uncertain ? 0 : 1, DType::i1);
  for (const KeyBound& b : term.bounds) {
    if (b.kind == KeyBound::lower) {
      r.lo = e_.max(r.lo, expression_of(e_, b.weak));
      r.full_lo = e_.max(r.full_lo, expression_of(e_, b.strong));
      r.lowers.push_back(b.weak);
    } else if (b.kind == KeyBound::upper) {
      const Linear past{b.weak.constant + 1, b.weak.terms}, full_past{b.strong.constant + 1, b.strong.terms};
      r.hi = e_.min(r.hi, expression_of(e_, past));
      r.full_hi = e_.min(r.full_hi, expression_of(e_, full_past));
      uppers.push_back(past);
    } else {
      possible = e_.both(possible, b.possible);
      certain = e_.both(certain, b.certain);
    }
  }
  r.hi = e_.select(possible, r.hi, zero());
  r.full_hi = e_.select(certain, r.full_hi, zero());
  for (const Linear& lower : r.lowers)
    for (const Linear& upper : uppers) r.checked |= !provable(mask::add(mask::add(upper, lower, -1), {-1, {}}));
  return r;
}

// first >= 0, last - first >= 0, query_length - 1 - last >= 0; other positions are not negative, and equal divisions
// are monotone.
bool SpanMaker::provable(const Linear& sum) const {
  if (sum.overflow) return false;
  Linear left = sum;
  for (std::size_t i = 0; i < left.terms.size(); ++i) {
    const Id id = left.terms[i].first;
    const Int factor = left.terms[i].second;
    if (factor > 0 || e_[id].op != OpCode::div) continue;
    for (const auto& [other, positive] : left.terms) {
      if (positive < -factor || e_[other].op != OpCode::div || e_[other].in[1] != e_[id].in[1]) continue;
      if (!provable(mask::add(sum_of(e_, e_[other].in[0]), sum_of(e_, e_[id].in[0]), -1))) continue;
      Linear without = left;
      for (auto& t : without.terms)
        if (t.first == other) t.second += factor;
      std::erase_if(without.terms, [&](const auto& t) { return t.first == id || t.second == 0; });
      return provable(without);
    }
  }
  Int first = 0, last = 0, queries = 0, constant = left.constant;
  for (const auto& [id, factor] : left.terms) {
    const Expressions::Node& n = e_[id];
    const int which = n.op == OpCode::position ? n.index : -1;
    if (which == at_first)
      first = factor;
    else if (which == at_last)
      last = factor;
    else if (which == at_query_length)
      queries = factor;
    else if (factor < 0)
      return false;
    else
      constant += factor * static_cast<Int>(e_.static_range(id).lo);
  }
  return queries >= 0 && last + queries >= 0 && first + last + queries >= 0 && constant + queries >= 0;
}

// Ranges with the same start, or the same end, are one range.
void SpanMaker::add(std::vector<KeyRange>& ranges, KeyRange range) {
  for (KeyRange& r : ranges) {
    if (r.lo == range.lo && r.full_lo == range.full_lo && !r.checked && !range.checked) {
      r.hi = e_.max(r.hi, range.hi);
      r.full_hi = e_.max(r.full_hi, range.full_hi);
      return;
    }
  }
  ranges.push_back(std::move(range));
}

bool SpanMaker::starts_no_later(const KeyRange& a, const KeyRange& b) const {
  if (e_.is_constant(a.lo) && e_.value(a.lo) == 0) return true;
  if (!a.known || !b.known) return false;
  return std::all_of(a.lowers.begin(), a.lowers.end(), [&](const Linear& x) {
    return provable(scaled(x, -1)) || std::any_of(b.lowers.begin(), b.lowers.end(),
                                                  [&](const Linear& y) { return provable(mask::add(y, x, -1)); });
  });
}

// Puts the range that starts first into `a`: now if that is known, else by selects.
void SpanMaker::order(KeyRange& a, KeyRange& b) {
  if (starts_no_later(a, b)) return;
  if (starts_no_later(b, a)) return std::swap(a, b);
  const Id swap = e_.compare(OpCode::lt, b.lo, a.lo);
  const auto pick = [&](Id x, Id y) { return e_.select(swap, y, x); };
  const KeyRange x = a, y = b;
  a = {pick(x.lo, y.lo),      pick(x.hi, y.hi), pick(x.full_lo, y.full_lo), pick(x.full_hi, y.full_hi), {}, false,
       x.checked || y.checked};
  b = {pick(y.lo, x.lo),      pick(y.hi, x.hi), pick(y.full_lo, x.full_lo), pick(y.full_hi, x.full_hi), {}, false,
       x.checked || y.checked};
}

std::vector<SpanBounds> SpanMaker::disjoint(const std::vector<KeyRange>& ranges) {
  std::vector<SpanBounds> spans(ranges.size());
  Id covered = zero();
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const KeyRange& r = ranges[i];
    const Id end = r.checked ? e_.select(e_.compare(OpCode::lt, r.lo, r.hi), ceil_tile(r.hi), zero()) : ceil_tile(r.hi);
    spans[i].begin = e_.max(floor_tile(r.lo), covered);
    spans[i].end = e_.max(spans[i].begin, end);
    covered = spans[i].end;
  }
  Id full_lo = -1, full_hi = -1;
  for (std::size_t i = ranges.size(); i-- > 0;) {
    const KeyRange& r = ranges[i];
    if (full_lo < 0) {
      full_lo = r.full_lo, full_hi = r.full_hi;
    } else {
      // Joined if they touch; a range without keys gives way; else only this term's.
      const Id touch = e_.both(e_.compare(OpCode::le, full_lo, r.full_hi), e_.compare(OpCode::le, r.full_lo, full_hi));
      const Id empty = e_.compare(OpCode::le, r.full_hi, r.full_lo);
      const Id lo = e_.select(touch, e_.min(r.full_lo, full_lo), e_.select(empty, full_lo, r.full_lo));
      const Id hi = e_.select(touch, e_.max(r.full_hi, full_hi), e_.select(empty, full_hi, r.full_hi));
      full_lo = lo, full_hi = hi;
    }
    SpanBounds& s = spans[i];
    if (ranges.size() == 1) {  // full keys are among the live ones
      s.full_begin = e_.min(ceil_tile(full_lo), s.end);
      s.full_end = e_.max(floor_tile(full_hi), s.full_begin);
    } else {
      s.full_begin = clamp(ceil_tile(full_lo), s.begin, s.end);
      s.full_end = clamp(floor_tile(full_hi), s.full_begin, s.end);
    }
  }
  return spans;
}

}  // namespace

std::vector<SpanBounds> derive_spans(Expressions& e, Id root, int key_tile, bool bounded, std::string& reason) {
  try {
    const std::vector<KeyTerm> terms = KeyBounds(e).terms(root);
    if (terms.empty()) return {{e.constant(0), e.constant(0), e.constant(0), e.constant(0)}};
    return SpanMaker(e, key_tile, bounded).spans(terms);
  } catch (const NoClosedForm& why) {
    reason = why.reason;
    return {};
  }
}

Spans emit_spans(const Expressions& e, const std::vector<SpanBounds>& spans, bool bounded) {
  Spans out;
  out.count = static_cast<int>(spans.size());
  out.bounded = bounded;
  out.bounds.name = "key_tiles";
  out.bounds.params = e.source().function.params;
  ir::Graph& graph = out.bounds.graph;
  std::array<ir::Value, kPositionCount> at{};
  for (const auto& [name, where] : {std::pair{"first", at_first},
                                    {"last", at_last},
                                    {"head", at_head},
                                    {"batch", at_batch},
                                    {"query_length", at_query_length},
                                    {"key_length", at_key_length},
                                    {"key_bound", at_key_bound}}) {
    at[where] = graph.add_value(ir::Type::scalar(DType::i32), name);
    graph.entry.args.push_back(at[where]);
  }
  ir::Builder into(graph, graph.entry, e.source().loc);
  std::vector<Id> roots;
  for (const SpanBounds& s : spans) roots.insert(roots.end(), {s.begin, s.full_begin, s.full_end, s.end});
  const std::vector<ir::Value> values = e.emit(roots, at, into);
  static constexpr const char* kNames[] = {"begin", "full_begin", "full_end", "end"};
  for (std::size_t i = 0; i < values.size(); ++i) {
    ir::ValueInfo& info = graph.values[values[i].id];
    if (info.name.empty() && !e.is_constant(roots[i])) info.name = kNames[i % 4];
  }
  into.yield(values);
  return out;
}

}  // namespace tessera::mask
