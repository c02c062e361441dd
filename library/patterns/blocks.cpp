#include <tessera/library/patterns/blocks.h>

#include <algorithm>

#include <fmt/format.h>

#include <tessera/dsl/lang/table.h>
#include <tessera/library/patterns/support.h>

namespace tessera {

using pattern::in_turn;
using pattern::kMost;
using pattern::place;
using pattern::product;
using pattern::require;

namespace {

void require_block(int size, SourceLoc loc) {
  require(size > 0, loc, fmt::format("the blocks have {} tokens", size), "give 1 or more");
}

// SplitMix64: the same lists on every machine.
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// `count` of the blocks that block i would not see otherwise, ascending.
std::vector<std::int32_t> random_blocks(std::int32_t i, std::int32_t blocks, int count, std::uint64_t& state) {
  std::vector<std::int32_t> others;
  for (std::int32_t j = 1; j < blocks - 1; ++j)
    if (j < i - 1 || j > i + 1) others.push_back(j);
  const std::size_t chosen = std::min(others.size(), static_cast<std::size_t>(count));
  for (std::size_t n = 0; n < chosen; ++n) std::swap(others[n], others[n + next_random(state) % (others.size() - n)]);
  others.resize(chosen);
  std::sort(others.begin(), others.end());
  return others;
}

}  // namespace

Mask block_diagonal(int size, Align align, SourceLoc loc) {
  require_block(size, loc);
  return Mask([=](Position q, Position k, At at) { return place(q, at, align) / size == k / size; }, loc)
      .named("block_diagonal");
}

Mask block_diagonal(int size, const std::vector<int>& left_padding, Align align, SourceLoc loc) {
  require_block(size, loc);
  require(!left_padding.empty(), loc, "there are no lengths of the padding", "give one a sequence");
  for (std::size_t b = 0; b < left_padding.size(); ++b)
    require(left_padding[b] >= 0, loc, fmt::format("the padding of sequence {} has {} tokens", b, left_padding[b]),
            "give 0 or more");
  Table padding = Table<i32>(left_padding, loc).named("padding");
  auto predicate = [=](Position q, Position k, At at) {
    Position before = padding[at.batch];
    return (place(q, at, align) - before) / size == (k - before) / size;
  };
  return Mask(predicate, loc).named("block_diagonal");
}

Mask blocked(int size, int previous, Align align, SourceLoc loc) {
  require_block(size, loc);
  require(previous >= 0, loc, fmt::format("there are {} previous blocks", previous), "give 0 or more");
  require(product(size, previous) <= kMost, loc,
          fmt::format("{} blocks of {} tokens are more than 2^31", previous, size), "give fewer or smaller blocks");
  auto predicate = [=](Position q, Position k, At at) {
    Position block = place(q, at, align) / size;
    return k >= (block - previous) * size && k < (block + 1) * size;
  };
  return Mask(predicate, loc).named("blocked");
}

Mask block_causal(int size, Align align, SourceLoc loc) {
  require_block(size, loc);
  return Mask([=](Position q, Position k, At at) { return k / size <= place(q, at, align) / size; }, loc)
      .named("block_causal");
}

Mask block_diffusion(int length, int size, SourceLoc loc) {
  require_block(size, loc);
  require(length > 0 && length <= kMost / 2, loc, fmt::format("there are {} noisy tokens", length),
          fmt::format("give 1 to {}: as many clean ones follow", kMost / 2));
  auto predicate = [=](Position q, Position k) {
    Position x = q % length / size, y = k % length / size;
    Tile<i1> noisy_q = q < length, noisy_k = k < length;
    return (x == y && noisy_q == noisy_k) || (x > y && noisy_q && !noisy_k) || (x >= y && !noisy_q && !noisy_k);
  };
  const auto tokens = mask::Extent::exactly(2LL * length);
  return Mask(predicate, loc)
      .named("block_diffusion")
      .for_lengths(fmt::format("block diffusion of {} noisy tokens", length), tokens, tokens);
}

std::vector<std::vector<std::int32_t>> bigbird_blocks(std::int64_t tokens, const BigBird& o, SourceLoc loc) {
  require_block(o.block, loc);
  require(o.random >= 0 && o.heads > 0, loc,
          fmt::format("there are {} random blocks and {} heads with lists of their own", o.random, o.heads),
          "give 0 or more blocks, and 1 or more heads");
  require(tokens > 0 && tokens <= kMost, loc, fmt::format("there are {} tokens", tokens), "give 1 to 2^31 - 1");
  const std::int64_t blocks = (tokens + o.block - 1) / o.block;
  require(product(product(blocks, o.heads), std::max(o.random, 1)) <= kMost, loc,
          fmt::format("{} random blocks for {} blocks of {} heads are more than 2^31", o.random, blocks, o.heads),
          "give larger blocks or fewer heads");
  std::uint64_t state = o.seed;
  std::vector<std::vector<std::int32_t>> lists;
  for (int h = 0; h < o.heads; ++h)
    for (std::int64_t i = 0; i < blocks; ++i)
      lists.push_back(random_blocks(static_cast<std::int32_t>(i), static_cast<std::int32_t>(blocks), o.random, state));
  return lists;
}

Mask bigbird(std::int64_t tokens, const BigBird& o, SourceLoc loc) {
  const auto lists = bigbird_blocks(tokens, o, loc);
  const int blocks = static_cast<int>(static_cast<std::int64_t>(lists.size()) / o.heads);
  std::vector<Table<i32>> others;  // the n-th random block of each row; its own, where there are no more
  for (int n = 0; n < o.random; ++n) {
    std::vector<int> column;
    for (std::size_t row = 0; row < lists.size(); ++row)
      column.push_back(n < static_cast<int>(lists[row].size()) ? lists[row][static_cast<std::size_t>(n)]
                                                               : static_cast<int>(row) % blocks);
    others.push_back(Table<i32>(column, loc).named("random"));
  }
  auto predicate = [=](Position q, Position k, At at) {
    Position i = q / o.block, j = k / o.block, row = in_turn(at.head, o.heads) * blocks + i;
    Tile<i1> seen = abs(i - j) <= 1 || i == 0 || j == 0 || i == blocks - 1 || j == blocks - 1;
    for (const Table<i32>& other : others) seen = seen || other[row] == j;
    return seen;
  };
  const auto exactly = mask::Extent::exactly(tokens);
  return Mask(predicate, loc)
      .named("bigbird")
      .for_lengths(fmt::format("BigBird over {} tokens", tokens), exactly, exactly);
}

Mask local_stride(const LocalStride& o, Align align, SourceLoc loc) {
  require_block(o.block, loc);
  require(o.local > 0 && o.stride > 0, loc,
          fmt::format("the window has {} blocks, and the stride is {} blocks", o.local, o.stride),
          "give 1 or more of each");
  require(o.heads > 0 && o.group > 0 && o.offset >= 0, loc,
          fmt::format("there are {} heads in groups of {}, and the offset is {}", o.heads, o.group, o.offset),
          "give 1 or more heads and heads a group, and an offset of 0 or more");
  const int step = std::max(1, o.stride / o.heads), offset = o.offset % o.stride;
  auto predicate = [=](Position q, Position k, At at) {
    Position own = place(q, at, align), i = own / o.block, j = k / o.block;
    Position turn = in_turn(o.group == 1 ? at.head : Position(at.head / o.group), o.heads) * step + offset;
    return k <= own && (i - j < o.local || (j + turn) % o.stride == 0);
  };
  return Mask(predicate, loc).named("local_stride");
}

}  // namespace tessera
