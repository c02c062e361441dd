#include <tessera/library/patterns.h>

#include <limits>

#include <fmt/format.h>

namespace tessera {

namespace {

void require(bool condition, SourceLoc loc, const std::string& cause, const char* remedy) {
  if (!condition) throw UserError(loc, cause, remedy);
}

// Where a query stands among the keys.
Position place(Position q, const At& at, Align align) {
  return align == Align::bottom_right ? Position(q + (at.key_length - at.query_length)) : q;
}

template <class Width>
Mask window_of(Width left, Width right, Align align, SourceLoc loc) {
  auto predicate = [=](Position q, Position k, At at) {
    Position own = place(q, at, align);
    return k >= own - left && k <= own + right;
  };
  return Mask(predicate, loc).named("window");
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

Mask block_diagonal(int size, SourceLoc loc) {
  require(size > 0, loc, fmt::format("the blocks have {} tokens", size), "give 1 or more");
  return Mask([=](Position q, Position k) { return q / size == k / size; }, loc).named("block_diagonal");
}

Mask documents(const Table<i32>& ids, SourceLoc loc) {
  return Mask([=](Position q, Position k) { return ids[q] == ids[k]; }, loc).named("documents");
}

Mask documents(const std::vector<std::int32_t>& ids, SourceLoc loc) {
  return documents(Table<i32>(ids, loc).named("document"), loc);
}

std::vector<std::int32_t> document_ids(const std::vector<std::int64_t>& lengths, SourceLoc loc) {
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    require(lengths[i] >= 0 && lengths[i] <= std::numeric_limits<std::int32_t>::max(), loc,
            fmt::format("document {} has {} tokens", i, lengths[i]), "give 0 to 2^31 - 1");
    ids.insert(ids.end(), static_cast<std::size_t>(lengths[i]), static_cast<std::int32_t>(i));
  }
  return ids;
}

}  // namespace tessera
