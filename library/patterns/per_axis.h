// One value for each axis of a grid, outermost first: {18, 24, 24}. A single one stands for all axes.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <vector>

namespace tessera {

namespace detail {
template <class T, std::size_t N>
std::vector<T> as_list(const std::array<T, N>& values) {
  return {values.begin(), values.end()};
}
}  // namespace detail

template <class T, int Rank>
struct PerAxis {
  std::array<T, Rank> values;

  template <class... N>
    requires(std::convertible_to<N, T> && ...)
  constexpr PerAxis(N... n) {
    static_assert(
        sizeof...(N) == 1 || sizeof...(N) == Rank,
        "an option of a pattern over a grid has one value for each axis of the grid, or a single one for all: "
        "{18, 24, 24} of three axes");
    if constexpr (sizeof...(N) == 1) {
      (values.fill(static_cast<T>(n)), ...);
    } else {
      values = {static_cast<T>(n)...};
    }
  }
  constexpr PerAxis(const std::array<T, Rank>& all) : values(all) {}

  constexpr const T& operator[](int axis) const { return values[static_cast<std::size_t>(axis)]; }
};

}  // namespace tessera
