// The patterns of the library beside plain C++ that says what they mean, written from their papers' formulas and not
// from the library: several parameters each, lengths that tiles divide and lengths that they do not.
#pragma once

#include <string>
#include <vector>

#include "library/attention_case.h"

namespace tessera::test {

struct CatalogueCase {
  std::string name;
  Mask mask;
  std::int64_t queries = 0, keys = 0;
  std::function<bool(const Pair&)> live;
  std::int64_t heads = 1, batch = 1;
};

std::vector<CatalogueCase> basic_cases();
std::vector<CatalogueCase> block_cases();
std::vector<CatalogueCase> strided_cases();
std::vector<CatalogueCase> packed_cases();
std::vector<CatalogueCase> grid_cases();
std::vector<CatalogueCase> video_cases();
const std::vector<CatalogueCase>& catalogue();

struct Sizes {
  std::int64_t queries, keys;
  std::int64_t own(const Pair& p) const { return p.q + keys - queries; }  // where a query stands among the keys
};
// Aligned, odd, fewer queries, fewer keys, one query.
inline const std::vector<Sizes> kSizes = {{128, 128}, {97, 97}, {60, 131}, {131, 60}, {1, 90}};

// Division and remainder that round down, of a positive divisor.
inline std::int64_t quotient(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
inline std::int64_t remainder(std::int64_t a, std::int64_t b) { return a - quotient(a, b) * b; }

// Coordinates of a token in a grid, outermost first.
inline std::vector<std::int64_t> place_in(const std::vector<std::int64_t>& grid, std::int64_t token) {
  std::vector<std::int64_t> at(grid.size());
  for (std::size_t i = grid.size(); i-- > 0; token /= grid[i]) at[i] = token % grid[i];
  return at;
}
inline std::int64_t tokens_in(const std::vector<std::int64_t>& grid) {
  std::int64_t tokens = 1;
  for (std::int64_t n : grid) tokens *= n;
  return tokens;
}

}  // namespace tessera::test
