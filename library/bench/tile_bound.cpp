#include <tessera/library/bench/tile_bound.h>

namespace tessera::bench {

double tile_bound_ms(const TileWork& work, const TileWork& dense, double dense_ms) {
  if (dense.visited == 0) return 0;
  const double area = static_cast<double>(work.query_tile) * work.key_tile / dense.query_tile / dense.key_tile;
  const double tiles = static_cast<double>(work.visited) + kTilesOfARow * static_cast<double>(work.query_tiles);
  return tiles * area * dense_ms / static_cast<double>(dense.visited);
}

}  // namespace tessera::bench
