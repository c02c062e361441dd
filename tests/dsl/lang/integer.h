// A plain integer with the language's rules (floor division, no truth needed), so that one generic lambda can be run on
// numbers and traced as a mask. Shares no code with either.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace tessera::test {

struct Integer {
  std::int64_t v;
  Integer(std::int64_t x) : v(x) {}

  friend Integer operator+(Integer a, Integer b) { return a.v + b.v; }
  friend Integer operator-(Integer a, Integer b) { return a.v - b.v; }
  friend Integer operator*(Integer a, Integer b) { return a.v * b.v; }
  friend Integer operator-(Integer a) { return -a.v; }
  friend Integer operator/(Integer a, Integer b) {
    const std::int64_t q = a.v / b.v;
    return q * b.v != a.v && (a.v < 0) != (b.v < 0) ? q - 1 : q;
  }
  friend Integer operator%(Integer a, Integer b) { return a - (a / b) * b; }
  friend bool operator<(Integer a, Integer b) { return a.v < b.v; }
  friend bool operator<=(Integer a, Integer b) { return a.v <= b.v; }
  friend bool operator>(Integer a, Integer b) { return a.v > b.v; }
  friend bool operator>=(Integer a, Integer b) { return a.v >= b.v; }
  friend bool operator==(Integer a, Integer b) { return a.v == b.v; }
  friend bool operator!=(Integer a, Integer b) { return a.v != b.v; }
};
inline Integer abs(Integer a) { return std::abs(a.v); }
inline Integer min(Integer a, Integer b) { return a < b ? a : b; }
inline Integer max(Integer a, Integer b) { return a < b ? b : a; }
inline Integer where(bool c, Integer a, Integer b) { return c ? a : b; }

struct IntegerAt {
  Integer head, batch, query_length, key_length;
};

}  // namespace tessera::test
