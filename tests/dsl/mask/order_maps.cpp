#include "order_maps.h"

#include <functional>

namespace tessera::testing {

namespace {

TileMap empty_map(const mask::TokenOrder& queries, const mask::TokenOrder& keys) {
  TileMap map;
  map.query_tiles = queries.tiles(), map.key_tiles = keys.tiles();
  map.tiles.assign(static_cast<std::size_t>(map.query_tiles * map.key_tiles), kEmpty);
  return map;
}

std::vector<std::int64_t> tile_numbers(const mask::TokenOrder& order) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t n = 0; n < order.tokens(); ++n) {
    const mask::Digits values = order.values(n);
    mask::Digits tile{};
    for (int i = 0; i < order.digits(); ++i) tile[i] = order.tile_of(i, values[i]);
    numbers.push_back(order.number(tile));
  }
  return numbers;
}

}  // namespace

TileMap brute_force(const Oracle& oracle, const mask::TokenOrder& queries, const mask::TokenOrder& keys) {
  TileMap map = empty_map(queries, keys);
  const std::vector<std::int64_t> of_query = tile_numbers(queries), of_key = tile_numbers(keys);
  std::vector<std::int64_t> live(map.tiles.size(), 0), rows(static_cast<std::size_t>(map.query_tiles), 0);
  for (std::int64_t q = 0; q < queries.tokens(); ++q) {
    ++rows[static_cast<std::size_t>(of_query[q])];
    std::int64_t* row = live.data() + of_query[q] * map.key_tiles;
    for (std::int64_t k = 0; k < keys.tokens(); ++k) row[of_key[k]] += oracle.live(q, k);
  }
  for (std::int64_t i = 0; i < map.query_tiles; ++i)
    for (std::int64_t j = 0; j < map.key_tiles; ++j) {
      const std::int64_t pairs = live[static_cast<std::size_t>(i * map.key_tiles + j)];
      const std::int64_t all = rows[static_cast<std::size_t>(i)] * keys.order().tile();
      const Tile tile = pairs == 0 ? kEmpty : pairs == all ? kFull : kPartial;
      map.at(i, j) = all == 0 ? kNoQuery : static_cast<std::uint8_t>(tile);
    }
  return map;
}

TileMap listed(const mask::TileList& list, const mask::TokenOrder& queries, const mask::TokenOrder& keys) {
  TileMap map = empty_map(queries, keys);
  for (std::int64_t q = 0; q < map.query_tiles; ++q) {
    const std::int32_t* row = &list.rows[mask::TileList::kFields * static_cast<std::size_t>(q)];
    for (std::int32_t i = 0; i < row[1] + row[2]; ++i) {
      const std::int32_t* tile = &list.tiles[static_cast<std::size_t>(row[0] + i)];
      if (i != 0 && i != row[1] && tile[-1] >= tile[0]) ++map.faults;
      if (*tile < 0 || *tile >= map.key_tiles || map.at(q, *tile) != kEmpty)
        ++map.faults;
      else
        map.at(q, *tile) = i < row[1] ? kPartial : kFull;
    }
  }
  return map;
}

Difference compare_rows(const TileMap& got, const TileMap& want) {
  TileMap of_queries = got;
  for (std::size_t i = 0; i < want.tiles.size(); ++i)
    if (want.tiles[i] == kNoQuery) of_queries.tiles[i] = kNoQuery;
  return compare(of_queries, want);
}

std::vector<mask::Order> boxes_of(const std::vector<std::int64_t>& weights, std::int64_t tokens, std::int64_t rows) {
  mask::Order order;
  for (std::int64_t weight : weights) order.digits.push_back({weight, 1, 0});
  const mask::TokenOrder lengths(order, tokens);
  std::vector<mask::Order> boxes;
  const std::function<void(std::size_t, std::int64_t)> choose = [&](std::size_t i, std::int64_t left) {
    if (i == weights.size()) {
      if (left == 1) boxes.push_back(order);
      return;
    }
    for (std::int64_t x = 1; x <= left && (x == 1 || x / 2 < lengths.extent(static_cast<int>(i))); x *= 2) {
      order.digits[i].tile = static_cast<int>(x);
      choose(i + 1, left / x);
    }
  };
  choose(0, rows);
  std::reverse(boxes.begin(), boxes.end());
  return boxes;
}

std::vector<OrderPair> orders_of(const std::vector<std::vector<std::int64_t>>& systems, std::int64_t queries,
                                 std::int64_t keys) {
  std::vector<OrderPair> pairs;
  for (const auto& [q, k] : {std::pair{64, 64}, {128, 128}, {192, 80}})
    pairs.push_back({mask::Order::identity(q), mask::Order::identity(k)});
  for (const auto& system : systems) {
    const std::vector<mask::Order> q = boxes_of(system, queries, 64), k = boxes_of(system, keys, 64);
    for (std::size_t i = 0; i < 3 && !q.empty(); ++i)
      pairs.push_back({q[i * (q.size() - 1) / 2], k[i == 1 ? 0 : i * (k.size() - 1) / 2]});
    if (!q.empty()) {
      OrderPair shifted{q.back(), mask::Order::identity(64)};
      shifted.queries.digits.back().origin = shifted.queries.digits.back().tile / 2;
      pairs.push_back(shifted);
      pairs.push_back({mask::Order::identity(64), q.front()});
    }
  }
  return pairs;
}

}  // namespace tessera::testing
