// Generalized neighborhood attention over a grid of one, two or three axes.
//
//   Grid video{30, 48, 80};
//   neighborhood(video, {.window = {18, 24, 24}, .stride = {16, 8, 8}})
//
// On each axis a query sees `window` keys around it, its own among them: window / 2 before and the rest after, moved
// inwards at the edges, so that there are always as many. With a stride, queries come in groups of so many neighbours
// that share the window of their middle one (the right one of two). With a dilation, all of this happens among every
// dilation-th token. On a causal axis the window ends at the query, and begins where that of its group's last query
// does; it shrinks at the first tokens.
#pragma once

#include <vector>

#include <tessera/dsl/lang/grid.h>
#include <tessera/dsl/lang/mask.h>
#include <tessera/library/patterns/per_axis.h>

namespace tessera {

template <int Rank>
struct Neighborhood {
  PerAxis<std::int64_t, Rank> window;
  PerAxis<std::int64_t, Rank> stride = 1;
  PerAxis<std::int64_t, Rank> dilation = 1;
  PerAxis<bool, Rank> causal = false;
  std::int64_t extra_keys = 0;  // behind the grid's keys, seen by every query in the same softmax
};

// One axis of the same, for grids whose rank is known when the program runs.
struct NeighborhoodAxis {
  std::int64_t length = 0, window = 0, stride = 1, dilation = 1;
  bool causal = false;
};
TESSERA_API Mask neighborhood(const std::vector<NeighborhoodAxis>& axes, std::int64_t extra_keys = 0,
                              SourceLoc loc = SourceLoc::here());

template <int Rank>
Mask neighborhood(const Grid<Rank>& grid, const Neighborhood<Rank>& options, SourceLoc loc = SourceLoc::here()) {
  std::vector<NeighborhoodAxis> axes;
  for (int i = 0; i < Rank; ++i) {
    axes.push_back({grid.extents[static_cast<std::size_t>(i)], options.window[i], options.stride[i],
                    options.dilation[i], options.causal[i]});
  }
  return neighborhood(axes, options.extra_keys, loc);
}

}  // namespace tessera
