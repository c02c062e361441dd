// Windows, halos and axes of images and videos. A grid has one to three axes, outermost first.
#pragma once

#include <vector>

#include <tessera/dsl/lang/grid.h>
#include <tessera/dsl/lang/mask.h>
#include <tessera/library/patterns/per_axis.h>

namespace tessera {

// Swin: keys of the query's own window. With a shift the windows stand so much further, and what would wrap around is
// apart: window / 2 in every second layer.
template <int Rank>
struct Swin {
  PerAxis<std::int64_t, Rank> window = 7;
  PerAxis<std::int64_t, Rank> shift = 0;
};

// HaloNet: queries of a block see the block and `halo` tokens around it.
template <int Rank>
struct Halo {
  PerAxis<std::int64_t, Rank> block = 8;
  PerAxis<std::int64_t, Rank> halo = 3;
};

// The same over grids whose rank is known when the program runs.
TESSERA_API Mask swin(const std::vector<std::int64_t>& grid, const std::vector<std::int64_t>& window,
                      const std::vector<std::int64_t>& shift, SourceLoc loc = SourceLoc::here());
TESSERA_API Mask halo(const std::vector<std::int64_t>& grid, const std::vector<std::int64_t>& block,
                      const std::vector<std::int64_t>& halo, SourceLoc loc = SourceLoc::here());
TESSERA_API Mask along(const std::vector<std::int64_t>& grid, const std::vector<int>& axes,
                       SourceLoc loc = SourceLoc::here());
TESSERA_API Mask axial(const std::vector<std::int64_t>& grid, SourceLoc loc = SourceLoc::here());

template <int Rank>
Mask swin(const Grid<Rank>& grid, const Swin<Rank>& options, SourceLoc loc = SourceLoc::here()) {
  return swin(detail::as_list(grid.extents), detail::as_list(options.window.values),
              detail::as_list(options.shift.values), loc);
}
template <int Rank>
Mask halo(const Grid<Rank>& grid, const Halo<Rank>& options, SourceLoc loc = SourceLoc::here()) {
  return halo(detail::as_list(grid.extents), detail::as_list(options.block.values),
              detail::as_list(options.halo.values), loc);
}

// Keys that are elsewhere than the query along these axes at most: along(image, {1}) is the query's own row,
// along(video, {1, 2}) its own frame, along(video, {0}) its own place in every frame.
template <int Rank>
Mask along(const Grid<Rank>& grid, const std::vector<int>& axes, SourceLoc loc = SourceLoc::here()) {
  return along(detail::as_list(grid.extents), axes, loc);
}

// Axial attention in one head: along one axis, whichever.
template <int Rank>
Mask axial(const Grid<Rank>& grid, SourceLoc loc = SourceLoc::here()) {
  return axial(detail::as_list(grid.extents), loc);
}

// Attention of a video split in two: within a frame, and along time.
inline Mask spatial(const Grid<3>& video, SourceLoc loc = SourceLoc::here()) { return along(video, {1, 2}, loc); }
inline Mask temporal(const Grid<3>& video, SourceLoc loc = SourceLoc::here()) { return along(video, {0}, loc); }

}  // namespace tessera
