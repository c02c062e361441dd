#include "gpu/pairwise.h"

#include <cstdint>
#include <set>
#include <tuple>

namespace tessera::test {

namespace {

using PairKey = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;  // factor, value, factor, value

PairKey key(std::size_t f, std::size_t a, std::size_t g, std::size_t b) {
  return f < g ? PairKey{f, a, g, b} : PairKey{g, b, f, a};
}

}  // namespace

std::vector<std::vector<std::size_t>> pairwise(const std::vector<std::size_t>& levels) {
  std::set<PairKey> open;
  for (std::size_t f = 0; f < levels.size(); ++f)
    for (std::size_t g = f + 1; g < levels.size(); ++g)
      for (std::size_t a = 0; a < levels[f]; ++a)
        for (std::size_t b = 0; b < levels[g]; ++b) open.insert({f, a, g, b});

  std::vector<std::vector<std::size_t>> rows;
  while (!open.empty()) {
    const auto [f, a, g, b] = *open.begin();
    std::vector<std::size_t> row(levels.size(), SIZE_MAX);
    row[f] = a;
    row[g] = b;
    for (std::size_t h = 0; h < levels.size(); ++h) {
      if (row[h] != SIZE_MAX) continue;
      std::size_t best = rows.size() % levels[h], most = 0;
      for (std::size_t value = 0; value < levels[h]; ++value) {
        std::size_t covers = 0;
        for (std::size_t other = 0; other < levels.size(); ++other)
          if (row[other] != SIZE_MAX) covers += open.count(key(h, value, other, row[other]));
        if (covers > most) most = covers, best = value;
      }
      row[h] = best;
    }
    for (std::size_t x = 0; x < levels.size(); ++x)
      for (std::size_t y = x + 1; y < levels.size(); ++y) open.erase(key(x, row[x], y, row[y]));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tessera::test
