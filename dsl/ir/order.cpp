#include <tessera/dsl/ir/order.h>

#include <algorithm>

#include <fmt/format.h>

namespace tessera::ir {

namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

int Order::tile() const {
  int tokens = 1;
  for (const OrderDigit& digit : digits) tokens *= digit.tile;
  return tokens;
}

std::int64_t Order::values(std::size_t i, std::int64_t length) const {
  return ceil_div(i == 0 ? length : digits[i - 1].weight, digits[i].weight);
}

std::int64_t Order::tiles(std::size_t i, std::int64_t length) const {
  const std::int64_t values = this->values(i, length);
  return values == 0 ? 0 : ceil_div(values + digits[i].origin, digits[i].tile);
}

std::int64_t Order::tiles(std::int64_t length) const {
  std::int64_t all = 1;
  for (std::size_t i = 0; i < digits.size(); ++i) all *= tiles(i, length);
  return all;
}

bool Order::is_clipped(std::size_t i) const {
  const OrderDigit& digit = digits[i];
  return digit.origin != 0 || values(i, 0) % digit.tile != 0 || digits[i - 1].weight % digit.weight != 0;
}

bool Order::ends_like_the_axis() const {
  if (digits[0].origin != 0) return false;
  for (std::size_t i = 1; i < digits.size(); ++i)
    if (is_clipped(i)) return false;
  return true;
}

int Order::rows_between(std::size_t i) const {
  int rows = 1;
  for (std::size_t j = i + 1; j < digits.size(); ++j) rows *= digits[j].tile;
  return rows;
}

bool Order::is_number(std::size_t from, std::size_t to) const {
  if (from > to || to >= digits.size()) return false;
  for (std::size_t i = from; i < to; ++i)
    if (digits[i].weight % digits[to].weight != 0) return false;
  return true;
}

std::int64_t Order::offset(std::size_t from, std::size_t to, int row) const {
  std::int64_t sum = 0;
  for (std::size_t i = from; i <= to; ++i) sum += digits[i].weight / digits[to].weight * place(i, row);
  return sum;
}

std::int64_t Order::value(std::size_t from, std::size_t to, std::span<const int> firsts, int row) const {
  std::int64_t sum = offset(from, to, row);
  for (std::size_t i = from; i <= to; ++i) sum += digits[i].weight / digits[to].weight * firsts[i];
  return sum;
}

std::int64_t Order::token(std::span<const int> firsts, int row) const {
  return value(0, digits.size() - 1, firsts, row);
}

// From the last digit on: `suffix` tokens lie before this one among those that agree in the digits before.
bool Order::exists(std::span<const int> firsts, int row, std::int64_t length) const {
  std::int64_t suffix = 0;
  for (std::size_t i = digits.size(); i-- > 0;) {
    const std::int64_t value = firsts[i] + place(i, row);
    suffix += digits[i].weight * value;
    if (value < 0 || suffix >= (i == 0 ? length : digits[i - 1].weight)) return false;
  }
  return true;
}

Order simplified(Order order) {
  std::vector<OrderDigit>& digits = order.digits;
  for (std::size_t i = digits.size(); i-- > 1;) {
    OrderDigit &outer = digits[i - 1], &inner = digits[i];
    const bool whole = inner.origin == 0 && inner.tile * inner.weight == outer.weight;
    if (!whole) continue;
    outer = {inner.weight, outer.tile * inner.tile, outer.origin * inner.tile};
    digits.erase(digits.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return order;
}

std::optional<Order> part_of(Order order, int rows) {
  int rest = rows;
  for (std::size_t i = order.digits.size(); i-- > 0;) {
    int& tile = order.digits[i].tile;
    if (rest % tile != 0 && tile % rest != 0) return std::nullopt;
    tile = std::min(tile, rest);
    rest /= tile;
  }
  if (rest != 1) return std::nullopt;
  return order;
}

std::string to_string(const Order& order) {
  std::vector<std::string> digits;
  for (const OrderDigit& d : order.digits)
    digits.push_back(fmt::format("{}:{}{}", d.weight, d.tile, d.origin ? fmt::format("-{}", d.origin) : ""));
  return fmt::format("[{}]", fmt::join(digits, ", "));
}

std::string why_no_order(const Order& order) {
  constexpr std::int64_t kMost = 1 << 29;  // sums of a length and of tiles around it stay in i32
  if (order.digits.empty()) return "it has no digits";
  std::int64_t rows = 1;
  for (std::size_t i = 0; i < order.digits.size(); ++i) {
    const OrderDigit& d = order.digits[i];
    const bool last = i + 1 == order.digits.size();
    if (last ? d.weight != 1 : d.weight <= order.digits[i + 1].weight)
      return last ? fmt::format("its last weight is {}, must be 1", d.weight) : "its weights do not fall";
    if (d.tile < 1) return fmt::format("a digit's tile is {}", d.tile);
    if (d.origin < 0 || d.origin >= d.tile)
      return fmt::format("a digit has origin {}, must be from 0 to {}", d.origin, d.tile - 1);
    if (d.weight > kMost / d.tile || (rows *= d.tile) > kMost)
      return fmt::format("a tile spans more than {} tokens", kMost);
  }
  return {};
}

}  // namespace tessera::ir
