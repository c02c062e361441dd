#include <tessera/library/patterns/packed.h>

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <tessera/library/patterns/support.h>

namespace tessera {

using pattern::kMost;
using pattern::product;
using pattern::require;

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

Mask key_ranges(const std::vector<std::int32_t>& first, const std::vector<std::int32_t>& end, SourceLoc loc) {
  require(first.size() == end.size(), loc,
          fmt::format("the ranges have {} first keys and {} ends", first.size(), end.size()),
          "give both of each query");
  Table from = Table<i32>(first, loc).named("first"), to = Table<i32>(end, loc).named("end");
  return Mask([=](Position q, Position k) { return k >= from[q] && k < to[q]; }, loc).named("key_ranges");
}

Mask shared_prefix(const SharedPrefix& o, SourceLoc loc) {
  require(o.lengths.size() == o.prefix.size(), loc,
          fmt::format("there are {} texts and {} prefixes", o.lengths.size(), o.prefix.size()),
          "give one a text, -1 for none");
  std::vector<int> begins;
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < o.lengths.size(); ++i) {
    require(o.lengths[i] >= 0 && o.lengths[i] <= kMost - tokens, loc,
            fmt::format("text {} has {} tokens, after {}", i, o.lengths[i], tokens), "give 0 to 2^31 - 1 in all");
    require(o.prefix[i] >= -1 && o.prefix[i] < static_cast<int>(i), loc,
            fmt::format("the prefix of text {} is {}", i, o.prefix[i]), "give a text before it, or -1 for none");
    begins.push_back(static_cast<int>(tokens));
    tokens += o.lengths[i];
  }
  require(tokens > 0, loc, "the texts have no token", "give 1 or more in all");
  std::vector<int> start, prefix_start, prefix_end;
  for (std::size_t i = 0; i < o.lengths.size(); ++i) {
    const auto count = static_cast<std::size_t>(o.lengths[i]);
    const auto p = static_cast<std::size_t>(std::max(o.prefix[i], 0));
    const bool has_prefix = o.prefix[i] >= 0;
    start.insert(start.end(), count, begins[i]);
    prefix_start.insert(prefix_start.end(), count, has_prefix ? begins[p] : 0);
    prefix_end.insert(prefix_end.end(), count, has_prefix ? begins[p] + static_cast<int>(o.lengths[p]) : 0);
  }
  Table own = Table<i32>(start, loc).named("start"), from = Table<i32>(prefix_start, loc).named("prefix_start"),
        to = Table<i32>(prefix_end, loc).named("prefix_end");
  auto predicate = [=](Position q, Position k) { return (k >= own[q] && k <= q) || (k >= from[q] && k < to[q]); };
  const auto exactly = mask::Extent::exactly(tokens);
  return Mask(predicate, loc)
      .named("shared_prefix")
      .for_lengths(fmt::format("a sequence of texts with {} tokens in all", tokens), exactly, exactly);
}

Mask tree(const std::vector<int>& parent, SourceLoc loc) {
  const auto nodes = static_cast<std::int64_t>(parent.size());
  require(nodes > 0 && product(nodes, nodes) <= kMost, loc, fmt::format("the tree has {} nodes", nodes),
          "give 1 to 46340");
  std::vector<int> sees(parent.size() * parent.size(), 0);  // row: a node, column: whether that one is an ancestor
  for (std::size_t i = 0; i < parent.size(); ++i) {
    require(parent[i] >= -1 && parent[i] < static_cast<int>(i), loc,
            fmt::format("the parent of node {} is {}", i, parent[i]), "give a node before it, or -1 at a root");
    int* row = &sees[i * parent.size()];
    if (parent[i] >= 0) std::copy_n(&sees[static_cast<std::size_t>(parent[i]) * parent.size()], i, row);
    row[i] = 1;
  }
  Table ancestors = Table<i32, 2>(sees, nodes, nodes, loc).named("ancestors");
  auto predicate = [=](Position q, Position k, At at) {
    Position before = at.key_length - at.query_length;
    return k < before || ancestors(q, k - before) != 0;
  };
  return Mask(predicate, loc)
      .named("tree")
      .for_lengths(fmt::format("a tree of {} nodes", nodes), mask::Extent::exactly(nodes), {.least = nodes});
}

Mask image_intervals(const ImageIntervals& o, SourceLoc loc) {
  const auto images = static_cast<std::int64_t>(o.first.size());
  require(o.keys_per_image > 0, loc, fmt::format("an image has {} keys", o.keys_per_image), "give 1 or more");
  require(images > 0 && o.end.size() == o.first.size(), loc,
          fmt::format("there are {} first queries and {} ends", o.first.size(), o.end.size()),
          "give both of each image");
  require(product(images, o.keys_per_image) <= kMost, loc,
          fmt::format("{} images of {} keys are more than 2^31 - 1", images, o.keys_per_image), "give fewer");
  Table first = Table<i32>(o.first, loc).named("first"), end = Table<i32>(o.end, loc).named("end");
  auto predicate = [=](Position q, Position k) {
    Position image = k / o.keys_per_image;
    return q >= first[image] && q < end[image];
  };
  return Mask(predicate, loc)
      .named("image_intervals")
      .for_lengths(fmt::format("attention to {} images of {} keys", images, o.keys_per_image), {},
                   mask::Extent::exactly(images * o.keys_per_image));
}

Mask global_window(int width, int count, SourceLoc loc) {
  require(width >= 0 && count >= 0, loc,
          fmt::format("the window has {} keys to a side, and {} tokens are global", width, count),
          "give 0 or more of each");
  return Mask([=](Position q, Position k) { return abs(q - k) <= width || q < count || k < count; }, loc)
      .named("global_window");
}

Mask global_window(int width, const std::vector<int>& is_global, SourceLoc loc) {
  require(width >= 0, loc, fmt::format("the window has {} keys to a side", width), "give 0 or more");
  Table global = Table<i32>(is_global, loc).named("global");
  return Mask([=](Position q, Position k) { return abs(q - k) <= width || global[q] != 0 || global[k] != 0; }, loc)
      .named("global_window");
}

Mask star(int hub, SourceLoc loc) {
  require(hub >= 0, loc, fmt::format("the hub is token {}", hub), "give 0 or more");
  return Mask([=](Position q, Position k) { return abs(q - k) <= 1 || q == hub || k == hub; }, loc).named("star");
}

}  // namespace tessera
