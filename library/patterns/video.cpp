#include <tessera/library/patterns/video.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include <tessera/dsl/lang/table.h>
#include <tessera/library/patterns/grid_support.h>
#include <tessera/library/patterns/radial.h>

namespace tessera {

using pattern::beside_text;
using pattern::coordinates;
using pattern::kMost;
using pattern::on_all_axes;
using pattern::require;

namespace {

using Extents = std::vector<std::int64_t>;

Extents extents_of(const Frames& video, SourceLoc loc) {
  const Extents extents{video.frames, video.tokens_per_frame};
  detail::check_grid(extents.data(), 2, loc);
  return extents;
}

// The least whole number that is not below `width`: |n| < width says the same as |n| < that.
int whole(double width, double unit, SourceLoc loc) {
  require(std::isfinite(width) && width >= 0 && width * unit <= static_cast<double>(kMost), loc,
          fmt::format("the width is {} frames", width), "give 0 or more, in all no more than 2^31 - 1 tokens");
  return static_cast<int>(std::ceil(width * unit));
}

}  // namespace

Mask sliding_tiles(const Extents& grid, const Extents& tile, const Extents& window, const TextTokens& text,
                   SourceLoc loc) {
  require(!grid.empty() && grid.size() <= 3, loc, fmt::format("the grid has {} axes", grid.size()), "give 1 to 3");
  require(tile.size() == grid.size() && window.size() == grid.size(), loc,
          fmt::format("options of {} and {} axes are given for a grid of {}", tile.size(), window.size(), grid.size()),
          "give one value for each axis");
  detail::check_grid(grid.data(), static_cast<int>(grid.size()), loc);
  Extents tiles;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    require(tile[i] > 0 && tile[i] <= grid[i], loc,
            fmt::format("the tile of axis {} is {}, and the axis has {} tokens", i, tile[i], grid[i]),
            fmt::format("give a tile of 1 to {}", grid[i]));
    tiles.push_back((grid[i] + tile[i] - 1) / tile[i]);
    require(window[i] > 0 && window[i] <= tiles[i], loc,
            fmt::format("the window of axis {} is {} tiles, and the axis has {}", i, window[i], tiles[i]),
            fmt::format("give a window of 1 to {}", tiles[i]));
  }
  return beside_text("sliding_tiles", grid, text, loc, [&](Position q, Position k) {
    const auto own = coordinates(grid, q), key = coordinates(grid, k);
    return on_all_axes(grid.size(), [&](std::size_t i) {
      const std::int64_t left = window[i] / 2, right = window[i] - 1 - left;
      Position centre = min(max(own[i] / tile[i], left), tiles[i] - 1 - right), at = key[i] / tile[i];
      return Tile<i1>(at >= centre - left && at <= centre + right);
    });
  });
}

Mask radial(const Frames& video, const Radial& o, SourceLoc loc) {
  const Extents extents = extents_of(video, loc);
  require(o.block > 0, loc, fmt::format("the blocks have {} tokens", o.block), "give 1 or more");
  require(std::isfinite(o.decay) && o.decay > 0, loc, fmt::format("the decay is {}", o.decay),
          "give a positive number");
  const std::vector<int> widths = pattern::radial_widths(video, o);
  if (o.shrink) {
    const pattern::RadialBlocks blocks = pattern::radial_blocks(video, o, widths, loc);
    Table seen = Table<i32, 2>(blocks.seen, blocks.count, blocks.count, loc).named("blocks");
    return beside_text("radial", extents, o.text, loc,
                       [&](Position q, Position k) { return Tile<i1>(seen(q / o.block, k / o.block) != 0); });
  }
  Table width = Table<i32>(widths, loc).named("width");
  return beside_text("radial", extents, o.text, loc, [&](Position q, Position k) {
    Position own = q / video.tokens_per_frame, frame = k / video.tokens_per_frame;
    Position aside = abs(q % video.tokens_per_frame - k % video.tokens_per_frame);
    Tile<i1> near = aside <= width[abs(own - frame)];
    return o.sink ? Tile<i1>(near || frame == 0) : near;
  });
}

Mask spatial_head(const Frames& video, const SparseVideo& o, SourceLoc loc) {
  const Extents extents = extents_of(video, loc);
  const int width = whole(o.width, static_cast<double>(video.tokens_per_frame), loc);
  return beside_text("spatial_head", extents, o.text, loc, [&](Position q, Position k) {
    Tile<i1> near = abs(q - k) < width;
    return o.sink ? Tile<i1>(near || k < video.tokens_per_frame) : near;
  });
}

Mask temporal_head(const Frames& video, const SparseVideo& o, SourceLoc loc) {
  const Extents extents = extents_of(video, loc);
  const int width =
      whole(o.width, static_cast<double>(video.tokens_per_frame) / static_cast<double>(video.frames), loc);
  return beside_text("temporal_head", extents, o.text, loc, [&](Position q, Position k) {
    Tile<i1> near = abs(q % video.tokens_per_frame - k % video.tokens_per_frame) < width;
    return o.sink ? Tile<i1>(near || k < video.tokens_per_frame) : near;
  });
}

}  // namespace tessera
