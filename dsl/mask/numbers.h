// Integer arithmetic the geometry is made of: bounded sums, and intervals with a step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include <tessera/dsl/ir/arithmetic.h>

namespace tessera::mask {

using Int = std::int64_t;

inline constexpr Int kUnbounded = Int{1} << 60;  // stands for infinity; sums of a few of them still fit
inline constexpr Int kMaxIndex = Int{1} << 30;   // positions, lengths and scalars of a closed form stay within +- this

using ir::floor_div;
using ir::floor_mod;
inline Int ceil_div(Int a, Int b) { return -floor_div(-a, b); }

// sum += a * b. False, and `sum` is of no use, if that leaves the bounded numbers.
inline bool accumulate(Int& sum, Int a, Int b) {
  Int product;
  if (__builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(sum, product, &sum)) return false;
  return -kUnbounded < sum && sum < kUnbounded;
}
inline bool fits_i32(Int a) { return a == static_cast<std::int32_t>(a); }

// The hull of a set of integers as an arithmetic progression: lo, lo + step, ..., hi. A point has step 0.
struct Progression {
  Int lo = 0, hi = 0, step = 1;

  static Progression point(Int at) { return {at, at, 0}; }
  static Progression range(Int lo, Int hi) { return {lo, hi, lo == hi ? 0 : 1}; }
  static Progression everything() { return {-kUnbounded, kUnbounded, 1}; }
  bool is_point() const { return lo == hi; }
  bool is_everything() const { return lo <= -kUnbounded || hi >= kUnbounded; }
  bool empty() const { return lo > hi; }

  // Cuts to [from, to] and moves both ends back onto the progression. False when nothing is left.
  bool clip(Int from, Int to) {
    Int a = std::max(lo, from), b = std::min(hi, to);
    if (a > b) return false;
    if (step > 1) {
      a += floor_mod(lo - a, step);
      b -= floor_mod(b - lo, step);
      if (a > b) return false;
    }
    lo = a, hi = b;
    if (lo == hi) step = 0;
    return true;
  }
};

}  // namespace tessera::mask
