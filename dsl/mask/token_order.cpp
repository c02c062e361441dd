#include <tessera/dsl/mask/token_order.h>

#include <fmt/format.h>

namespace tessera::mask {

TokenOrder::TokenOrder(const Order& order, Int tokens) : order_(order), tokens_(tokens) {
  const auto require = [&](bool holds, const char* what) {
    if (!holds) throw InternalError(fmt::format("{}: {}", what, to_string(order)));
  };
  require(!order.digits.empty() && order.digits.size() <= kMaxOrderDigits && order.digits.back().weight == 1,
          "a token order has one to four digits, the last of weight 1");
  for (int i = 0; i < digits(); ++i) {
    require(i == 0 || weight(i) < weight(i - 1), "the weights of a token order decrease");
    require(tile(i) > 0 && origin(i) >= 0 && origin(i) < tile(i), "tiles are positive, and origins less than they");
    extents_[i] = ceil_div(period(i), weight(i));
  }
}

bool TokenOrder::ragged() const {
  for (int i = 0; i < digits(); ++i)
    if (ragged(i)) return true;
  return false;
}

Int TokenOrder::tiles() const {
  Int product = 1;
  for (int i = 0; i < digits(); ++i) product *= tiles(i);
  return product;
}

Digits TokenOrder::coordinates(Int number) const {
  Digits at{};
  for (int i = digits() - 1; i > 0; --i) {
    at[i] = number % tiles(i);
    number /= tiles(i);
  }
  at[0] = number;
  return at;
}

Int TokenOrder::number(const Digits& coordinates) const {
  Int number = coordinates[0];
  for (int i = 1; i < digits(); ++i) number = number * tiles(i) + coordinates[i];
  return number;
}

Int TokenOrder::position(const Digits& values) const {
  Int sum = 0;
  for (int i = 0; i < digits(); ++i) sum += weight(i) * values[i];
  return sum;
}

bool TokenOrder::valid(const Digits& values) const {
  Int suffix = 0;
  for (int i = digits() - 1; i >= 0; --i) {
    suffix += weight(i) * values[i];
    if (suffix >= period(i)) return false;
  }
  return true;
}

Digits TokenOrder::values(Int position) const {
  Digits values{};
  for (int i = 0; i < digits(); ++i) {
    values[i] = position / weight(i);
    position %= weight(i);
  }
  return values;
}

}  // namespace tessera::mask
