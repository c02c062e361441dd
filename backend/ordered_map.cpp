#include <tessera/backend/ordered_map.h>

#include <fmt/format.h>

#include <tessera/backend/warpgroup.h>

namespace tessera::backend {

OrderedMap ordered_map(const ir::Order& order, std::size_t unlisted_axes) {
  constexpr int kMostValues = 256;  // of a box along an axis; tiles have fewer rows
  for (const ir::OrderDigit& digit : order.digits)
    ensure(digit.tile <= kMostValues, "a box of a tensor map has at most 256 elements along an axis");
  OrderedMap map;
  for (std::size_t i = order.digits.size(); i-- > 0;) (order.digits[i].tile > 1 ? map.boxes : map.others).push_back(i);
  const std::size_t single = map.others.size() + unlisted_axes;
  map.offsets = 1 + map.boxes.size() + single > kMapAxes;
  if (map.offsets && 2 + map.boxes.size() > kMapAxes)
    throw InternalError(fmt::format("tiles of order {} have several values of {} digits, at most 3 can be copied",
                                    to_string(order), map.boxes.size()));
  return map;
}

bool has_two_maps(const ir::Order& order) {
  if (order.digits[0].weight == 1 || order.digits[0].tile == 1) return false;
  for (std::size_t i = 1; i < order.digits.size(); ++i)
    if (order.digits[i].tile > 1) return false;
  return true;
}

bool splits_value(const ir::Order& order, std::size_t i) {
  if (i == 0) return order.digits[0].weight > 1 && !has_two_maps(order);
  return order.digits[i - 1].weight % order.digits[i].weight != 0;
}

std::optional<ir::AxisOrder> rows_of_warp(const ir::AxisOrder& cut) {
  const std::optional<ir::Order> rows = ir::part_of(cut.order, kWarpRows);
  if (!rows || cut.is_padded()) return std::nullopt;
  return ir::AxisOrder{cut.axis, *rows, kWarpRows};
}

const ir::AxisOrder* order_of(const ir::Kernel& kernel, const std::vector<const ir::Op*>& definitions, ir::Value at) {
  if (kernel.type(at).kind != ir::TypeKind::index) return nullptr;
  const ir::Op* op = definitions[at.id];
  if (!op || op->code != ir::OpCode::tile_at) throw InternalError("a tile's handle that no tile_at has made");
  return &kernel.orders.at(static_cast<std::size_t>(op->index));
}

}  // namespace tessera::backend
