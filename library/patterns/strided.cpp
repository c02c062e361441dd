#include <tessera/library/patterns/strided.h>

#include <algorithm>

#include <fmt/format.h>

#include <tessera/dsl/lang/table.h>
#include <tessera/library/patterns/basic.h>
#include <tessera/library/patterns/support.h>

namespace tessera {

using pattern::in_turn;
using pattern::kMost;
using pattern::place;
using pattern::product;
using pattern::require;

namespace {

void require_dilated(int width, int dilation, SourceLoc loc) {
  require(width >= 0 && dilation > 0, loc,
          fmt::format("the window has {} keys to a side at dilation {}", width, dilation),
          "give 0 or more keys, and a dilation of 1 or more");
  require(product(width, dilation) <= kMost, loc,
          fmt::format("{} keys at dilation {} reach further than 2^31 - 1", width, dilation),
          "give a smaller window or dilation");
}

void require_stride(int stride, SourceLoc loc) {
  require(stride > 0, loc, fmt::format("the stride is {}", stride), "give 1 or more");
}

// 1 where the distance is a power of two or among the local ones.
std::vector<int> log_distances(int count, int local) {
  std::vector<int> seen(static_cast<std::size_t>(count), 0);
  for (std::int64_t d = 1; d < count; d *= 2) seen[static_cast<std::size_t>(d)] = 1;
  std::fill_n(seen.begin(), std::min(local, count), 1);
  return seen;
}

}  // namespace

Mask dilated_window(int width, int dilation, Align align, SourceLoc loc) {
  require_dilated(width, dilation, loc);
  auto predicate = [=](Position q, Position k, At at) {
    Position away = place(q, at, align) - k;
    return abs(away) <= width * dilation && away % dilation == 0;
  };
  return Mask(predicate, loc).named("dilated_window");
}

Mask dilated_window(int width, const std::vector<int>& dilation_of_head, Align align, SourceLoc loc) {
  require(!dilation_of_head.empty(), loc, "there are no dilations", "give one a head");
  for (int dilation : dilation_of_head) require_dilated(width, dilation, loc);
  Table dilations = Table<i32>(dilation_of_head, loc).named("dilation");
  auto predicate = [=](Position q, Position k, At at) {
    Position away = place(q, at, align) - k, dilation = dilations[at.head];
    return abs(away) <= width * dilation && away % dilation == 0;
  };
  return Mask(predicate, loc).named("dilated_window");
}

Mask strided(int stride, Align align, SourceLoc loc) {
  require_stride(stride, loc);
  return Mask([=](Position q, Position k, At at) { return (place(q, at, align) - k) % stride == 0; }, loc)
      .named("strided");
}

Mask strided_blocks(const StridedBlocks& o, Align align, SourceLoc loc) {
  require(o.block > 0, loc, fmt::format("the blocks have {} tokens", o.block), "give 1 or more");
  require(o.stride > 0 && o.stride <= o.block, loc,
          fmt::format("the stride is {}, and the blocks have {} tokens", o.stride, o.block),
          fmt::format("give a stride of 1 to {}", o.block));
  require(o.offset >= 0 && o.offset < o.stride, loc,
          fmt::format("the offset is {}, and the stride {}", o.offset, o.stride),
          fmt::format("give an offset of 0 to {}: with another no key is seen", o.stride - 1));
  auto predicate = [=](Position q, Position k, At at) {
    Position own = place(q, at, align);
    return own / o.block == k / o.block && own % o.stride == o.offset && k % o.stride == o.offset;
  };
  return Mask(predicate, loc).named("strided_blocks");
}

Mask sparse_strided(int stride, SparseTransformer part, Align align, SourceLoc loc) {
  require_stride(stride, loc);
  auto predicate = [=](Position q, Position k, At at) {
    Position back = place(q, at, align) - k;
    Tile<i1> local = back < stride, column = back % stride == 0;
    Tile<i1> seen = part == SparseTransformer::local    ? local
                    : part == SparseTransformer::column ? column
                                                        : local || column;
    return back >= 0 && seen;
  };
  return Mask(predicate, loc).named("sparse_strided");
}

Mask sparse_fixed(const SparseFixed& o, SparseTransformer part, Align align, SourceLoc loc) {
  require(o.block > 0, loc, fmt::format("the blocks have {} tokens", o.block), "give 1 or more");
  require(o.columns > 0 && o.groups > 0 && product(o.columns, o.groups) <= o.block, loc,
          fmt::format("{} groups of {} columns are taken from blocks of {}", o.groups, o.columns, o.block),
          "give 1 or more of each, in all no more than a block has");
  auto predicate = [=](Position q, Position k, At at) {
    Position own = place(q, at, align), end = o.block - in_turn(at.head, o.groups) * o.columns, column = k % o.block;
    Tile<i1> local = own / o.block == k / o.block, fixed = column >= end - o.columns && column < end;
    Tile<i1> seen = part == SparseTransformer::local    ? local
                    : part == SparseTransformer::column ? fixed
                                                        : local || fixed;
    return k <= own && seen;
  };
  return Mask(predicate, loc).named("sparse_fixed");
}

Mask log_sparse(int tokens, const LogSparse& o, Align align, SourceLoc loc) {
  require(tokens > 0, loc, fmt::format("there are {} tokens", tokens), "give 1 or more");
  require(o.local > 0 && o.restart >= 0, loc,
          fmt::format("there are {} local keys, and it restarts every {}", o.local, o.restart),
          "give 1 or more local keys, and a restart of 0 (none) or more");
  Table seen =
      Table<i32>(log_distances(o.restart ? std::min(o.restart, tokens) : tokens, o.local), loc).named("distance");
  auto predicate = [=](Position q, Position k, At at) {
    Position back = place(q, at, align) - k, distance = o.restart ? Position(back % o.restart) : back;
    return back >= 0 && seen[distance] != 0;
  };
  const auto fits = mask::Extent::at_most(tokens);
  return Mask(predicate, loc)
      .named("log_sparse")
      .for_lengths(fmt::format("LogSparse over {} tokens", tokens), fits, fits);
}

Mask longnet(const LongNet& o, SourceLoc loc) {
  require(o.segment > 0, loc, fmt::format("the segments have {} tokens", o.segment), "give 1 or more");
  require(o.dilation > 0 && o.dilation <= o.segment, loc,
          fmt::format("the dilation is {}, and the segments have {} tokens", o.dilation, o.segment),
          fmt::format("give a dilation of 1 to {}", o.segment));
  require(o.heads > 0, loc, fmt::format("there are {} heads", o.heads), "give 1 or more");
  const int together = (o.heads + o.dilation - 1) / o.dilation;
  auto predicate = [=](Position q, Position k, At at) {
    Position begin = o.heads_in_turn ? Position(at.head % o.dilation) : Position(at.head / together);
    Tile<i1> seen =
        q / o.segment == k / o.segment && q % o.segment % o.dilation == begin && k % o.segment % o.dilation == begin;
    return o.causal ? Tile<i1>(seen && causal(q, k, at)) : seen;
  };
  return Mask(predicate, loc).named("longnet");
}

}  // namespace tessera
