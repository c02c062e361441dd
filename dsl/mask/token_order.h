// A token order over a number of tokens: how long its digits are, which tiles there are, what each covers.
//
// Token n = sum of weight * digit; digits run from the outermost, and the last is fastest inside a tile. Any strictly
// decreasing weights that end in 1 name every token once. Where a weight does not divide the one before it, or the
// outermost one the length, the digit is *ragged*: some of its combinations with the digits below it are no token.
#pragma once

#include <array>

#include <tessera/dsl/mask/numbers.h>
#include <tessera/dsl/mask/plan.h>

namespace tessera::mask {

inline constexpr int kMaxOrderDigits = 4;

// Values of the digits of one side, or of its tiles' coordinates; entries past the order's digits are 0.
using Digits = std::array<Int, kMaxOrderDigits>;

class TokenOrder {
 public:
  // The identity, in tiles of `tile`.
  explicit TokenOrder(Int tokens, int tile = 1) : TokenOrder(Order::identity(tile), tokens) {}
  // InternalError for digits that are no order.
  TokenOrder(const Order& order, Int tokens);

  const Order& order() const { return order_; }
  int digits() const { return static_cast<int>(order_.digits.size()); }
  Int tokens() const { return tokens_; }
  Int weight(int digit) const { return order_.digits[static_cast<std::size_t>(digit)].weight; }
  Int extent(int digit) const { return extents_[digit]; }
  // Tokens from one value of the digit above to the next: what the digits from `digit` down stay below.
  Int period(int digit) const { return digit == 0 ? tokens_ : weight(digit - 1); }
  bool ragged(int digit) const { return period(digit) % weight(digit) != 0; }
  bool ragged() const;

  Int tile(int digit) const { return order_.digits[static_cast<std::size_t>(digit)].tile; }
  Int origin(int digit) const { return order_.digits[static_cast<std::size_t>(digit)].origin; }
  Int tiles(int digit) const { return ceil_div(extents_[digit] + origin(digit), tile(digit)); }
  Int tiles() const;
  // The tile that has this value of a digit, and the values of one.
  Int tile_of(int digit, Int value) const { return floor_div(value + origin(digit), tile(digit)); }
  Int first(int digit, Int at) const { return std::max<Int>(at * tile(digit) - origin(digit), 0); }
  Int last(int digit, Int at) const { return std::min((at + 1) * tile(digit) - origin(digit), extents_[digit]) - 1; }
  // Whether the tile has rows that are no value of the digit.
  bool clipped(int digit, Int at) const { return last(digit, at) - first(digit, at) + 1 < tile(digit); }

  // Tiles are numbered with the last coordinate fastest; the numbers do not depend on how long the order is.
  Digits coordinates(Int number) const;
  Int number(const Digits& coordinates) const;

  Int position(const Digits& values) const;  // in the order's own tokens: below tokens() where `valid`
  bool valid(const Digits& values) const;    // these values are a token
  Digits values(Int position) const;

 private:
  Order order_;
  Int tokens_;
  Digits extents_{};
};

}  // namespace tessera::mask
