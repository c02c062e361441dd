// Tile maps in token orders: by brute force, and of lists.
#pragma once

#include <tessera/dsl/mask/tile_map.h>

#include "dsl/mask/maps.h"

namespace tessera::testing {

// The tile map that follows from the mask at every pair. Rows of query tiles without a query are kNoQuery.
inline constexpr std::uint8_t kNoQuery = 3;
TileMap brute_force(const Oracle& oracle, const mask::TokenOrder& queries, const mask::TokenOrder& keys);

// The tile map of a list of one class.
TileMap listed(const mask::TileList& list, const mask::TokenOrder& queries, const mask::TokenOrder& keys);

// As compare(), without the rows that have no query.
Difference compare_rows(const TileMap& got, const TileMap& want);

// Boxes with this many rows for digits of these weights, from wide in the outermost digit to wide in the last.
std::vector<mask::Order> boxes_of(const std::vector<std::int64_t>& weights, std::int64_t tokens, std::int64_t rows);

struct OrderPair {
  mask::Order queries, keys;
};
// Identities of three sizes, and wide, square and long boxes of each system, also with origins and with the identity on
// one side.
std::vector<OrderPair> orders_of(const std::vector<std::vector<std::int64_t>>& systems, std::int64_t queries,
                                 std::int64_t keys);

}  // namespace tessera::testing
