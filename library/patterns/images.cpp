#include <tessera/library/patterns/images.h>

#include <algorithm>

#include <fmt/format.h>

#include <tessera/library/patterns/grid_support.h>

namespace tessera {

using pattern::beside_text;
using pattern::coordinates;
using pattern::on_all_axes;
using pattern::require;

namespace {

using Extents = std::vector<std::int64_t>;

void check_axes(const Extents& grid, const Extents& a, const Extents& b, SourceLoc loc) {
  require(!grid.empty() && grid.size() <= 3, loc, fmt::format("the grid has {} axes", grid.size()), "give 1 to 3");
  require(a.size() == grid.size() && b.size() == grid.size(), loc,
          fmt::format("options of {} and {} axes are given for a grid of {}", a.size(), b.size(), grid.size()),
          "give one value for each axis");
  detail::check_grid(grid.data(), static_cast<int>(grid.size()), loc);
}

}  // namespace

Mask swin(const Extents& grid, const Extents& window, const Extents& shift, SourceLoc loc) {
  check_axes(grid, window, shift, loc);
  for (std::size_t i = 0; i < grid.size(); ++i) {
    require(window[i] > 0 && window[i] <= grid[i], loc,
            fmt::format("the window of axis {} is {}, and the axis has {} tokens", i, window[i], grid[i]),
            fmt::format("give a window of 1 to {}", grid[i]));
    require(shift[i] >= 0 && shift[i] < window[i], loc,
            fmt::format("the shift of axis {} is {}, and its window {}", i, shift[i], window[i]),
            fmt::format("give a shift of 0 to {}", window[i] - 1));
  }
  return beside_text("swin", grid, {}, loc, [&](Position q, Position k) {
    const auto own = coordinates(grid, q), key = coordinates(grid, k);
    return on_all_axes(grid.size(), [&](std::size_t i) {
      if (shift[i] == 0) return Tile<i1>(own[i] / window[i] == key[i] / window[i]);
      const std::int64_t first = window[i] - shift[i];  // tokens that the first window is short of
      return Tile<i1>((own[i] + first) / window[i] == (key[i] + first) / window[i]);
    });
  });
}

Mask halo(const Extents& grid, const Extents& block, const Extents& halo, SourceLoc loc) {
  check_axes(grid, block, halo, loc);
  for (std::size_t i = 0; i < grid.size(); ++i) {
    require(block[i] > 0 && block[i] <= grid[i], loc,
            fmt::format("the block of axis {} is {}, and the axis has {} tokens", i, block[i], grid[i]),
            fmt::format("give a block of 1 to {}", grid[i]));
    require(halo[i] >= 0 && halo[i] <= grid[i], loc,
            fmt::format("the halo of axis {} is {}, and the axis has {} tokens", i, halo[i], grid[i]),
            fmt::format("give a halo of 0 to {}", grid[i]));
  }
  return beside_text("halo", grid, {}, loc, [&](Position q, Position k) {
    const auto own = coordinates(grid, q), key = coordinates(grid, k);
    return on_all_axes(grid.size(), [&](std::size_t i) {
      Position origin = own[i] / block[i] * block[i];
      return Tile<i1>(key[i] >= origin - halo[i] && key[i] < origin + block[i] + halo[i]);
    });
  });
}

Mask along(const Extents& grid, const std::vector<int>& axes, SourceLoc loc) {
  check_axes(grid, grid, grid, loc);
  for (int axis : axes)
    require(axis >= 0 && axis < static_cast<int>(grid.size()), loc,
            fmt::format("there is an axis {}, and the grid has {}", axis, grid.size()),
            fmt::format("give axes of 0 to {}", grid.size() - 1));
  return beside_text("along", grid, {}, loc, [&](Position q, Position k) {
    const auto own = coordinates(grid, q), key = coordinates(grid, k);
    return on_all_axes(grid.size(), [&](std::size_t i) {
      const bool free = std::find(axes.begin(), axes.end(), static_cast<int>(i)) != axes.end();
      return free ? Tile<i1>(true) : Tile<i1>(own[i] == key[i]);
    });
  });
}

Mask axial(const Extents& grid, SourceLoc loc) {
  Mask any = along(grid, {0}, loc);
  for (std::size_t i = 1; i < grid.size(); ++i) any = any | along(grid, {static_cast<int>(i)}, loc);
  return any.named("axial");
}

}  // namespace tessera
