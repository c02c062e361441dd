// What the language's operations compute, on single numbers: the one place that says how integers wrap and divide, and
// which operand min and max prefer to a NaN. The interpreter's loops, constant folding and the geometry of masks are
// made of it.
//
// i32 wraps. Floats are f32; whoever holds f16 or bf16 rounds the result (interpret_number.h). Inline, so that loops
// over elements vectorise.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace tessera::ir {

// Of whole numbers that no operation takes out of their type; b is not 0.
template <std::signed_integral I>
constexpr I floor_div(I a, I b) {
  const I rest = a % b;
  return a / b - (rest != 0 && (rest < 0) != (b < 0) ? 1 : 0);
}
template <std::signed_integral I>
constexpr I floor_mod(I a, I b) {
  const I rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

constexpr std::int32_t wrap(std::int64_t x) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(x)); }

namespace number {

template <class T>
concept Number = std::same_as<T, float> || std::same_as<T, std::int32_t>;

constexpr std::uint32_t bits(std::int32_t x) { return static_cast<std::uint32_t>(x); }

inline constexpr auto negate = []<Number T>(T a) -> T {
  if constexpr (std::same_as<T, float>)
    return -a;
  else
    return static_cast<T>(0u - bits(a));
};
inline constexpr auto absolute = []<Number T>(T a) -> T {
  if constexpr (std::same_as<T, float>)
    return std::fabs(a);
  else
    return a < 0 ? negate(a) : a;
};
inline constexpr auto plus = []<Number T>(T a, T b) -> T {
  if constexpr (std::same_as<T, float>)
    return a + b;
  else
    return static_cast<T>(bits(a) + bits(b));
};
inline constexpr auto minus = []<Number T>(T a, T b) -> T {
  if constexpr (std::same_as<T, float>)
    return a - b;
  else
    return static_cast<T>(bits(a) - bits(b));
};
inline constexpr auto times = []<Number T>(T a, T b) -> T {
  if constexpr (std::same_as<T, float>)
    return a * b;
  else
    return static_cast<T>(bits(a) * bits(b));
};
inline constexpr auto divide = []<Number T>(T a, T b) -> T {
  if constexpr (std::same_as<T, float>)
    return a / b;
  else
    return b == 0 ? 0 : b == -1 ? negate(a) : floor_div(a, b);  // by -1, the least number leaves i32
};
inline constexpr auto modulo = [](std::int32_t a, std::int32_t b) { return b == 0 || b == -1 ? 0 : floor_mod(a, b); };

// The number where one operand is NaN.
inline constexpr auto smaller = []<Number T>(T a, T b) -> T { return a < b || b != b ? a : b; };
inline constexpr auto larger = []<Number T>(T a, T b) -> T { return a > b || b != b ? a : b; };

inline constexpr auto reciprocal_root = [](float a) { return 1 / std::sqrt(a); };

}  // namespace number

}  // namespace tessera::ir
