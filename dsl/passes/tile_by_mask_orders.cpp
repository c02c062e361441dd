// Tiles of token orders, as scalar arithmetic and handles.
#include <tessera/dsl/passes/tile_by_mask_internal.h>

namespace tessera::passes::detail {

using ir::Axis;
using ir::Builder;
using ir::OpCode;
using ir::Value;

// The number's digits have as many values as the order's have tiles, which only those of the first depend on the
// length.
std::vector<Value> tile_digits(const ir::Order& order, Value number, Builder& b) {
  std::vector<Value> tiles(order.digits.size());
  for (std::size_t i = tiles.size(); i-- > 1;) {
    const auto along = static_cast<int>(order.tiles(i, 0));
    tiles[i] = along == 1 ? b.constant(0) : b.binary(OpCode::mod, number, b.constant(along));
    number = b.div(number, along);
  }
  tiles[0] = number;
  return tiles;
}

// ceil((ceil(length / weight) + origin) / tile) along the first digit.
Value tile_count(const ir::Order& order, Value length, Builder& b) {
  const ir::OrderDigit& first = order.digits[0];
  const auto weight = static_cast<int>(first.weight), tokens = weight * first.tile;
  Value count = b.div(b.add(length, weight * first.origin + tokens - 1), tokens);
  for (std::size_t i = 1; i < order.digits.size(); ++i) count = b.mul(count, static_cast<int>(order.tiles(i, 0)));
  return count;
}

Value first_value(const ir::OrderDigit& digit, Value tile, Builder& b) {
  const Value at = b.mul(tile, digit.tile);
  return digit.origin ? b.add(at, -digit.origin) : at;
}

Place tile_of_order(const ir::Kernel& tiled, int order, std::span<const Value> tile, Builder& b) {
  const ir::AxisOrder& cut = tiled.orders.at(static_cast<std::size_t>(order));
  std::vector<Value> firsts;
  for (std::size_t i = 0; i < tile.size(); ++i) firsts.push_back(first_value(cut.order.digits[i], tile[i], b));
  const Value at = b.tile_at(cut.axis, order, firsts);
  return {at, order, std::move(firsts)};
}

Place program_tile(const ir::Kernel& tiled, Axis grid_axis, Value number, Builder& b) {
  for (std::size_t i = 0; i < tiled.grid.size(); ++i) {
    if (tiled.grid[i] != grid_axis) continue;
    const ir::AxisOrder* cut = tiled.grid_order(i);
    if (!cut) return {named(b, b.mul(number, tiled.grid_tiles[i].extent), "first")};
    Place place = tile_of_order(tiled, tiled.grid_orders[i], tile_digits(cut->order, number, b), b);
    named(b, place.at, "rows");
    return place;
  }
  throw InternalError(grid_axis.name() + " is no grid axis");
}

Value tokens_of(ir::Dim dim, const Place& place, Builder& b) {
  return place.order >= 0 ? b.position(dim, place.at) : b.add(b.iota(dim), place.at);
}

Value tokens_within(const ir::Kernel& tiled, ir::Dim dim, const Place& place, Value end, Builder& b) {
  if (place.order >= 0) {
    const ir::AxisOrder& cut = tiled.orders.at(static_cast<std::size_t>(place.order));
    if (cut.is_padded() || !cut.order.ends_like_the_axis()) return b.exists(dim, place.at, end);
  }
  return b.binary(OpCode::lt, tokens_of(dim, place, b), end ? end : b.length(dim.axis));
}

Value tokens_unpadded(const ir::Kernel& tiled, ir::Dim dim, const Place& place, Builder& b) {
  if (place.order < 0) return {};
  const ir::AxisOrder& cut = tiled.orders.at(static_cast<std::size_t>(place.order));
  return cut.is_padded() ? b.binary(OpCode::lt, b.iota(dim), b.constant(cut.order.tile())) : Value{};
}

}  // namespace tessera::passes::detail
