// Masks of video models.
#pragma once

#include <vector>

#include <tessera/dsl/lang/grid.h>
#include <tessera/dsl/lang/mask.h>
#include <tessera/library/patterns/grid_tokens.h>
#include <tessera/library/patterns/per_axis.h>

namespace tessera {

// Sliding tile attention: queries of a tile see `window` tiles of the grid on each axis, centred on their own and moved
// inwards at the edges.
template <int Rank>
struct SlidingTiles {
  PerAxis<std::int64_t, Rank> tile;    // tokens
  PerAxis<std::int64_t, Rank> window;  // tiles
  TextTokens text = {};
};
TESSERA_API Mask sliding_tiles(const std::vector<std::int64_t>& grid, const std::vector<std::int64_t>& tile,
                               const std::vector<std::int64_t>& window, const TextTokens& text = {},
                               SourceLoc loc = SourceLoc::here());
template <int Rank>
Mask sliding_tiles(const Grid<Rank>& grid, const SlidingTiles<Rank>& options, SourceLoc loc = SourceLoc::here()) {
  return sliding_tiles(detail::as_list(grid.extents), detail::as_list(options.tile.values),
                       detail::as_list(options.window.values), options.text, loc);
}

// Frames of as many tokens each.
struct Frames {
  std::int64_t frames = 1, tokens_per_frame = 1;
};

// Radial attention: all of the query's own frame and its neighbours; of a frame at distance d the tokens near the
// query's own place, fewer the further: 2^bits(tokens per frame) / 2^bits(d) * decay to either side, but no fewer than
// `block`. Where the undecayed band is narrower than a block, only every so many frames are seen at all.
struct Radial {
  double decay = 1;
  int block = 128;
  bool sink = false;  // all queries see the first frame
  bool shrink =
      false;  // to blocks of block x block tokens: each is seen whole or not at all, by how dense its columns are
  TextTokens text = {};
};
TESSERA_API Mask radial(const Frames& video, const Radial& options = {}, SourceLoc loc = SourceLoc::here());

// Sparse VideoGen. A spatial head sees keys less than `width` frames away, and with a sink the first frame; a temporal
// head those at most as far from its own place, in any frame: as many, spread over all frames.
struct SparseVideo {
  double width = 1;  // frames
  bool sink = false;
  TextTokens text = {};
};
TESSERA_API Mask spatial_head(const Frames& video, const SparseVideo& options, SourceLoc loc = SourceLoc::here());
TESSERA_API Mask temporal_head(const Frames& video, const SparseVideo& options, SourceLoc loc = SourceLoc::here());

}  // namespace tessera
