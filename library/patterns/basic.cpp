#include <tessera/library/patterns/basic.h>

#include <fmt/format.h>

#include <tessera/dsl/lang/table.h>
#include <tessera/library/patterns/support.h>

namespace tessera {

using pattern::place;
using pattern::require;

namespace {

template <class Width>
Mask window_of(Width left, Width right, Align align, SourceLoc loc) {
  auto predicate = [=](Position q, Position k, At at) {
    Position own = place(q, at, align);
    return k >= own - left && k <= own + right;
  };
  return Mask(predicate, loc).named("window");
}

// One length a sequence.
Table<i32> lengths_table(const std::vector<int>& lengths, const char* what, SourceLoc loc) {
  require(!lengths.empty(), loc, fmt::format("there are no {} lengths", what), "give one a sequence");
  for (std::size_t b = 0; b < lengths.size(); ++b)
    require(lengths[b] >= 0, loc, fmt::format("the {} length of sequence {} is {}", what, b, lengths[b]),
            "give 0 or more");
  return Table<i32>(lengths, loc).named(std::string(what) + "_length");
}

}  // namespace

Mask CausalPattern::operator()(Align align, SourceLoc loc) const {
  return Mask([=](Position q, Position k, At at) { return k <= place(q, at, align); }, loc).named("causal");
}

Mask window(int left, int right, Align align, SourceLoc loc) {
  require(left >= 0 && right >= 0, loc, fmt::format("the window is ({}, {})", left, right),
          "give the number of keys before and after a query's own place, each 0 or more");
  return window_of(left, right, align, loc);
}

Mask window(Param<i32> left, Param<i32> right, Align align, SourceLoc loc) {
  return window_of(left, right, align, loc);
}

Mask prefix(int length, Align align, SourceLoc loc) {
  require(length >= 0, loc, fmt::format("the prefix has {} keys", length), "give 0 or more");
  return Mask([=](Position q, Position k, At at) { return k < length || k <= place(q, at, align); }, loc)
      .named("prefix");
}

Mask prefix(const std::vector<int>& lengths, Align align, SourceLoc loc) {
  Table length = lengths_table(lengths, "prefix", loc);
  return Mask([=](Position q, Position k, At at) { return k < length[at.batch] || k <= place(q, at, align); }, loc)
      .named("prefix");
}

Mask sinks(int count, SourceLoc loc) {
  require(count >= 0, loc, fmt::format("there are {} sinks", count), "give 0 or more");
  return Mask([=](Position, Position k) { return k < count; }, loc).named("sinks");
}

Mask sink_window(int count, int left, Align align, SourceLoc loc) {
  require(count >= 0 && left >= 0, loc,
          fmt::format("there are {} sinks and a window of {} keys before the query", count, left),
          "give 0 or more of each");
  auto predicate = [=](Position q, Position k, At at) {
    Position own = place(q, at, align);
    return k <= own && (k >= own - left || k < count);
  };
  return Mask(predicate, loc).named("sink_window");
}

Mask tri_shape(const TriShape& o, Align align, SourceLoc loc) {
  require(o.sinks >= 0 && o.left >= 0 && o.last >= 0, loc,
          fmt::format("there are {} sinks, a window of {} keys before the query and {} last queries", o.sinks, o.left,
                      o.last),
          "give 0 or more of each");
  auto predicate = [=](Position q, Position k, At at) {
    Position own = place(q, at, align);
    return k <= own && (k < o.sinks || k >= own - o.left || q >= at.query_length - o.last);
  };
  return Mask(predicate, loc).named("tri_shape");
}

Mask padding(const std::vector<int>& lengths, SourceLoc loc) {
  Table length = lengths_table(lengths, "key", loc);
  return Mask([=](Position, Position k, At at) { return k < length[at.batch]; }, loc).named("padding");
}

}  // namespace tessera
