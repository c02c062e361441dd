// Tile maps of plans, and the same by brute force.
#pragma once

#include <cstdint>
#include <vector>

#include <tessera/dsl/mask/planner.h>

namespace tessera::testing {

enum Tile : std::uint8_t { kEmpty, kPartial, kFull };

struct TileMap {
  std::int64_t query_tiles = 0, key_tiles = 0;
  std::vector<std::uint8_t> tiles;
  int faults = 0;  // tiles named twice, or outside the grid
  std::uint8_t& at(std::int64_t q, std::int64_t k) { return tiles[static_cast<std::size_t>(q * key_tiles + k)]; }
};

// The mask at every pair, and the tile map that follows from it.
class Oracle {
 public:
  Oracle(const mask::Pointwise& mask, const mask::PlanRequest& request, std::int64_t head = 0, std::int64_t batch = 0);
  TileMap tiles(int query_tile, int key_tile) const;
  bool live(std::int64_t q, std::int64_t k) const { return live_[static_cast<std::size_t>(q * keys_ + k)] != 0; }

 private:
  std::int64_t queries_, keys_, bound_;
  std::vector<char> live_;
};

inline TileMap brute_force(const mask::Pointwise& mask, const mask::PlanRequest& r, std::int64_t head = 0,
                           std::int64_t batch = 0) {
  return Oracle(mask, r, head, batch).tiles(r.query_tile, r.key_tile);
}

// What a kernel would visit: the span function called with the request's lengths, or the list.
TileMap visited(const mask::Plan& plan, const mask::Pointwise& mask, const mask::PlanRequest& request,
                std::int64_t head = 0, std::int64_t batch = 0);

// Runs a scalar function op by op.
std::vector<std::int64_t> run(const ir::Function& f, const std::vector<std::int64_t>& arguments,
                              const mask::Pointwise& mask, const std::vector<mask::NamedScalar>& scalars);

struct Difference {
  int unsound = 0;  // live tiles not visited, tiles called full that are not
  int kept = 0;     // empty tiles visited
  int lost = 0;     // full tiles called partial
};
Difference compare(TileMap got, TileMap want);

}  // namespace tessera::testing
