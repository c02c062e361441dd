#include "dsl/mask/order_plans.h"

#include <tessera/dsl/ir/builder.h>

namespace tessera::testing {

namespace {

using mask::Order;

// The tokens of tile number `tile`; -1 for places that are none.
std::vector<std::int64_t> tokens_of(const Order& order, std::int64_t tile, std::int64_t length) {
  std::vector<int> firsts(order.digits.size());
  for (std::size_t i = firsts.size(); i-- > 0;) {
    const std::int64_t along = order.tiles(i, length);
    firsts[i] = static_cast<int>(tile % along) * order.digits[i].tile - order.digits[i].origin;
    tile /= along;
  }
  std::vector<std::int64_t> tokens;
  for (int row = 0; row < order.tile(); ++row)
    tokens.push_back(order.exists(firsts, row, length) ? order.token(firsts, row) : -1);
  return tokens;
}

enum class Cover { empty, partial, full };

Cover cover_of(const std::vector<std::int64_t>& queries, const std::vector<std::int64_t>& keys,
               const AllowedPair& allowed) {
  bool live = false, dead = false;
  for (std::int64_t k : keys) {
    dead |= k < 0;
    for (std::int64_t q : queries)
      if (q >= 0 && k >= 0) (allowed(q, k) ? live : dead) = true;
  }
  return !live ? Cover::empty : dead ? Cover::partial : Cover::full;
}

}  // namespace

mask::Source listed(const Order& queries, const Order& keys, Lengths lengths, const AllowedPair& allowed) {
  return listed(queries, keys, lengths, std::vector{allowed}, {});
}

mask::Source listed(const Order& queries, const Order& keys, Lengths lengths, const std::vector<AllowedPair>& classes,
                    std::vector<std::int32_t> class_of) {
  mask::TileList list;
  list.class_of = std::move(class_of);
  mask::Counts counts;
  std::vector<std::vector<std::int64_t>> key_tiles;
  for (std::int64_t t = 0; t < keys.tiles(lengths.keys); ++t) key_tiles.push_back(tokens_of(keys, t, lengths.keys));
  for (const AllowedPair& allowed : classes)
    for (std::int64_t t = 0; t < queries.tiles(lengths.queries); ++t) {
      const std::vector<std::int64_t> rows = tokens_of(queries, t, lengths.queries);
      std::vector<std::int32_t> tiles[2];
      for (std::size_t k = 0; k < key_tiles.size(); ++k)
        if (const Cover cover = cover_of(rows, key_tiles[k], allowed); cover != Cover::empty)
          tiles[cover == Cover::full].push_back(static_cast<std::int32_t>(k));
      list.rows.push_back(static_cast<std::int32_t>(list.tiles.size()));
      for (const auto& of : tiles) {
        list.rows.push_back(static_cast<std::int32_t>(of.size()));
        list.tiles.insert(list.tiles.end(), of.begin(), of.end());
      }
      list.rows.push_back(static_cast<std::int32_t>(t));
      counts.partial += std::ssize(tiles[0]), counts.full += std::ssize(tiles[1]);
      counts.total += std::ssize(key_tiles);
    }
  counts.visited = counts.partial + counts.full;
  return {keys, std::move(list), counts};
}

mask::Source box_window(const Order& queries, const Order& keys, const std::vector<int>& reach) {
  mask::Spans spans;
  ir::Function& f = spans.bounds;
  f.name = "box";
  const std::size_t digits = keys.digits.size();
  for (std::size_t i = 0; i < 2 * digits + 5; ++i)
    f.graph.entry.args.push_back(f.graph.add_value(ir::Type::scalar(DType::i32)));
  const std::vector<ir::Value> args = f.graph.entry.args;
  ir::Builder b(f.graph, f.graph.entry);
  const ir::Value zero = b.constant(0);
  std::vector<ir::Value> bounds;
  for (std::size_t i = 0; i < digits; ++i) {
    const mask::OrderDigit& digit = keys.digits[i];
    const auto weight = static_cast<int>(digit.weight);
    const ir::Value first = args[2 * i], last = args[2 * i + 1];
    const ir::Value values = i == 0 ? b.div(b.add(args[2 * digits + 3], weight - 1), weight)
                                    : b.constant(static_cast<int>(keys.values(i, 0)));
    const auto tile_below = [&](ir::Value v) { return b.div(b.add(v, digit.origin), digit.tile); };
    const ir::Value lo = b.max(b.add(first, -reach[i]), zero), hi = b.min(b.add(last, reach[i] + 1), values);
    const ir::Value begin = tile_below(lo), end = b.max(begin, tile_below(b.add(hi, digit.tile - 1)));
    // Places before the digit's first value, or after its last complete one, are in no full tile.
    const std::int64_t before = i == 0 ? 0 : keys.digits[i - 1].weight;
    const ir::Value complete =
        i == 0 ? b.div(args[2 * digits + 3], weight) : b.constant(static_cast<int>(before / digit.weight));
    const ir::Value full_lo = b.max(b.add(last, -reach[i]), zero),
                    full_hi = b.min(b.add(first, reach[i] + 1), complete);
    const ir::Value full_begin = b.min(b.max(tile_below(b.add(full_lo, digit.tile - 1)), begin), end);
    const ir::Value full_end = b.min(b.max(tile_below(full_hi), full_begin), end);
    bounds.insert(bounds.end(), {begin, full_begin, full_end, end});
  }
  b.yield(bounds);
  ensure(queries.digits.size() == digits && reach.size() == digits, "a box window has a reach for each digit");
  return {keys, std::move(spans), {}};
}

void make_partial(mask::Plan& plan) {
  for (mask::Source& source : plan.passes.at(0).sources) {
    auto& list = std::get<mask::TileList>(source.schedule);
    for (std::size_t row = 0; row < list.rows.size(); row += mask::TileList::kFields) {
      list.rows[row + 1] += list.rows[row + 2];
      list.rows[row + 2] = 0;
    }
    source.counts.partial += source.counts.full;
    source.counts.full = 0;
  }
}

mask::Plan plan_of(const Order& queries, std::vector<mask::Source> sources) {
  mask::Plan plan;
  plan.passes.push_back({queries, std::move(sources)});
  return plan;
}

}  // namespace tessera::testing
