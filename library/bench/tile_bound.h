// The time that a sparse kernel can be expected to take: that of its tiles, each as long as a tile of the dense kernel,
// and for each query tile the part of a row that no amount of sparsity saves: loading Q, filling and draining the
// pipeline, writing O.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::bench {

struct TileWork {
  std::int64_t visited = 0;  // over query tiles, heads and batch
  std::int64_t query_tiles = 0;
  int query_tile = 0, key_tile = 0;
};

inline constexpr double kTilesOfARow =
    1.4;  // that fixed part, in tiles: what rows are held to, however the costs are fitted

// `dense` and its time are of a kernel of the same dims. Tiles of another size count by their area. Of several sources
// and passes: the sum.
double tile_bound_ms(const std::vector<TileWork>& work, const TileWork& dense, double dense_ms);

}  // namespace tessera::bench
