#include <tessera/dsl/mask/plan.h>

#include <fmt/format.h>

namespace tessera::mask {

int Order::tile() const {
  int tokens = 1;
  for (const OrderDigit& digit : digits) tokens *= digit.tile;
  return tokens;
}

std::string to_string(const Order& order) {
  std::vector<std::string> digits;
  for (const OrderDigit& d : order.digits) digits.push_back(fmt::format("{}:{}", d.weight, d.tile));
  return fmt::format("[{}]", fmt::join(digits, ", "));
}

}  // namespace tessera::mask
