#include <tessera/library/patterns/radial.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include <tessera/library/patterns/support.h>

namespace tessera::pattern {

namespace {

// A run of tokens of one frame, as places within it.
struct Run {
  std::int64_t begin, end;
};

// The part of frame `frame` that lies in block `block`.
Run part(const Frames& video, std::int64_t frame, std::int64_t block, std::int64_t size) {
  const std::int64_t first = frame * video.tokens_per_frame;
  return {std::max<std::int64_t>(block * size - first, 0),
          std::min<std::int64_t>((block + 1) * size - first, video.tokens_per_frame)};
}

// Of the columns that are live for some of the rows, whether more than 60 % are live for over a third of a block.
bool dense(const Run& rows, const Run& columns, std::int64_t width, int block) {
  std::int64_t live = 0, high = 0;
  for (std::int64_t c = columns.begin; c < columns.end; ++c) {
    const std::int64_t count = std::min(rows.end, c + width + 1) - std::max(rows.begin, c - width);
    live += count > 0;
    high += 3 * count > block;
  }
  return 5 * high > 3 * live;
}

}  // namespace

std::vector<int> radial_widths(const Frames& video, const Radial& o) {
  const std::int64_t tokens = video.tokens_per_frame;
  const double whole = std::ldexp(1.0, std::bit_width(static_cast<std::uint64_t>(tokens)));
  std::vector<int> widths;
  for (std::int64_t d = 0; d < video.frames; ++d) {
    const double band = std::ldexp(whole, -std::bit_width(static_cast<std::uint64_t>(d)));
    const auto every = static_cast<std::int64_t>(o.block / band);
    const bool kept = band >= o.block || d % every == 0;
    const double width = std::min(std::max<double>(band * o.decay, o.block), static_cast<double>(tokens));
    widths.push_back(static_cast<int>(d <= 1 ? tokens : kept ? std::floor(width) : -1));
  }
  return widths;
}

RadialBlocks radial_blocks(const Frames& video, const Radial& o, const std::vector<int>& widths, SourceLoc loc) {
  const std::int64_t tokens = video.frames * video.tokens_per_frame, whole_blocks = tokens / o.block;
  RadialBlocks blocks;
  blocks.count = (tokens + o.block - 1) / o.block;
  require(product(blocks.count, blocks.count) <= kMost, loc,
          fmt::format("{} blocks of {} tokens to a side are more than 2^31 in all", blocks.count, o.block),
          "give larger blocks");
  blocks.seen.assign(static_cast<std::size_t>(blocks.count * blocks.count), 0);
  const auto at = [&](std::int64_t row, std::int64_t column) -> int& {
    return blocks.seen[static_cast<std::size_t>(row * blocks.count + column)];
  };
  const auto first = [&](std::int64_t frame) { return frame * video.tokens_per_frame / o.block; };
  const auto last = [&](std::int64_t frame) { return ((frame + 1) * video.tokens_per_frame - 1) / o.block; };
  for (std::int64_t i = 0; i < video.frames; ++i)
    for (std::int64_t j = 0; j < video.frames; ++j) {
      const bool all = o.sink && j == 0;
      const std::int64_t width = all ? video.tokens_per_frame : widths[static_cast<std::size_t>(std::abs(i - j))];
      if (width < 0) continue;
      for (std::int64_t row = first(i); row <= last(i); ++row)
        for (std::int64_t column = first(j); column <= last(j); ++column) {
          int& seen = at(row, column);
          seen = seen || dense(part(video, i, row, o.block), part(video, j, column, o.block), width, o.block);
        }
    }
  for (std::int64_t n = 0; n < blocks.count && whole_blocks < blocks.count; ++n)
    at(n, whole_blocks) = at(whole_blocks, n) = 1;  // the block that the video ends in, which the text begins in
  return blocks;
}

}  // namespace tessera::pattern
