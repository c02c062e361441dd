// Token orders: how tiles are cut out of an axis whose tokens never move.
//
// An order writes a token as digits, outermost first: token n = sum of weight * c. Weights fall strictly and the last
// is 1; digit i > 0 has ceil(weight[i - 1] / weight[i]) values, digit 0 as many as the axis needs. The identity order
// is one digit of weight 1; residue classes mod s are [s:b, 1:1]; a grid of Y x X is [X:by, 1:bx].
//
// A tile is a box: `tile` values of each digit, from t * tile - origin on for the t-th. Its rows run through the box
// with the last digit fastest. Where a digit's values are no multiple of its tile, or a weight does not divide the one
// before, boxes hold places that are no token: they do not exist, are read as 0 and are never written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tessera/dsl/ir/types.h>

namespace tessera::ir {

struct OrderDigit {
  std::int64_t weight = 1;
  int tile = 1;
  int origin = 0;
  friend bool operator==(const OrderDigit&, const OrderDigit&) = default;
};

struct Order {
  std::vector<OrderDigit> digits;

  static Order identity(int tile) { return {{{1, tile}}}; }
  bool is_identity() const { return digits.size() == 1 && digits[0].weight == 1 && digits[0].origin == 0; }
  int tile() const;  // tokens of a whole tile: product over the digits

  // Values of digit i in an axis of `length` tokens, and tiles that cover them. Those of digits after the first do not
  // depend on the length.
  std::int64_t values(std::size_t i, std::int64_t length) const;
  std::int64_t tiles(std::size_t i, std::int64_t length) const;
  std::int64_t tiles(std::int64_t length) const;  // tile number: digits as in a number, the first one counts most

  // Some tile may reach past the values of digit i > 0, or past the last of them, which may be incomplete.
  bool is_clipped(std::size_t i) const;
  // Places of a tile are tokens, or lie past the end of the axis: comparing token numbers tells them apart.
  bool ends_like_the_axis() const;

  int rows_between(std::size_t i) const;  // rows of a tile from one value of digit i to the next
  // Which of the box's values of digit i a row has. Rows past the last of a tile go on with the first digit.
  int place(std::size_t i, int row) const {
    return i == 0 ? row / rows_between(0) : row / rows_between(i) % digits[i].tile;
  }
  // Digits from `from` to `to` as a number: what the last of them counts. Their weights must divide each other.
  bool is_number(std::size_t from, std::size_t to) const;
  std::int64_t offset(std::size_t from, std::size_t to, int row) const;  // from row 0 to `row`
  std::int64_t value(std::size_t from, std::size_t to, std::span<const int> firsts, int row) const;

  // Of the row of a tile whose digits start at `firsts`.
  std::int64_t token(std::span<const int> firsts, int row) const;
  bool exists(std::span<const int> firsts, int row, std::int64_t length) const;

  friend bool operator==(const Order&, const Order&) = default;
};

// The same tiles with fewest digits: [64:2, 1:64] is [1:128].
Order simplified(Order order);
// The order whose tiles are `rows` consecutive rows of this one's, from a multiple of them on, where they are a box.
std::optional<Order> part_of(Order order, int rows);

std::string to_string(const Order& order);     // "[1:128]", "[112:7-4, 1:7-4]": weight:tile, less the origin
std::string why_no_order(const Order& order);  // a clause, or nothing for an order

// An order as kernels use it: tiles of `axis` have `rows` rows, those past the order's own never exist.
struct AxisOrder {
  Axis axis;
  Order order;
  int rows = 0;
  bool is_padded() const { return rows != order.tile(); }
  bool exists(std::span<const int> firsts, int row, std::int64_t length) const {
    return row < order.tile() && order.exists(firsts, row, length);
  }
  friend bool operator==(const AxisOrder&, const AxisOrder&) = default;
};

}  // namespace tessera::ir
