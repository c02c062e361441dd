// Block maps chosen at random: the same ones on every machine, whatever its standard library.
#include <tessera/library/bench/mask_case.h>

#include <cstdlib>

namespace tessera::bench {

namespace {

// SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // in [0, 1)
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(limit));
  }

 private:
  std::uint64_t state_;
};

}  // namespace

BlockMap random_blocks(std::int64_t block, std::int64_t side, double density, std::uint64_t seed) {
  Random random(seed);
  BlockMap map{block, side, {}};
  for (std::int64_t row = 0; row < side; ++row) {
    for (std::int64_t column = 0; column < side; ++column)
      map.live.push_back(random.uniform() < density || row == column);
  }
  return map;
}

BlockMap bigbird_blocks(std::int64_t block, std::int64_t side, int window, int globals, int random_count,
                        std::uint64_t seed) {
  Random random(seed);
  BlockMap map{block, side, {}};
  for (std::int64_t row = 0; row < side; ++row) {
    for (std::int64_t column = 0; column < side; ++column)
      map.live.push_back(std::abs(row - column) <= window / 2 || row < globals || column < globals);
    for (int left = row < globals ? 0 : random_count; left > 0;) {
      std::int32_t& chosen = map.live[static_cast<std::size_t>(row * side + random.below(side))];
      left -= chosen == 0;
      chosen = 1;
    }
  }
  return map;
}

}  // namespace tessera::bench
