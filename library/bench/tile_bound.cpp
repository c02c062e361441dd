#include <tessera/library/bench/tile_bound.h>

namespace tessera::bench {

double tile_bound_ms(const std::vector<TileWork>& work, const TileWork& dense, double dense_ms) {
  if (dense.visited == 0) return 0;
  double dense_tiles = 0;
  for (const TileWork& w : work) {
    const double area = static_cast<double>(w.query_tile) * w.key_tile / dense.query_tile / dense.key_tile;
    dense_tiles += area * (static_cast<double>(w.visited) + kTilesOfARow * static_cast<double>(w.query_tiles));
  }
  return dense_tiles * dense_ms / static_cast<double>(dense.visited);
}

}  // namespace tessera::bench
