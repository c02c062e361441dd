// Loops over the elements of a tile and of operands that broadcast to it, as few and as long as strides allow.
//
// The innermost loop belongs to the caller and runs over whole rows, so that it is compiled once an operation and
// vectorises; everything else (odometer, merging of adjacent dims) happens once a row.
#pragma once

#include <array>

#include <tessera/dsl/ir/interpret_value.h>

namespace tessera::ir::interp {

template <std::size_t N>
struct Nest {
  std::vector<std::int64_t> extents;                 // outer loops, then the row
  std::vector<std::array<std::int64_t, N>> strides;  // of each operand, a loop
};

// Loops over `dims`; operand strides by axis name.
template <std::size_t N>
Nest<N> make_nest(const std::vector<Dim>& dims, const std::array<const Tile*, N>& tiles) {
  Nest<N> nest;
  for (const Dim& dim : dims) {
    std::array<std::int64_t, N> strides;
    for (std::size_t i = 0; i < N; ++i) strides[i] = tiles[i]->stride(dim.axis);
    bool merges = !nest.extents.empty();
    for (std::size_t i = 0; merges && i < N; ++i) merges = nest.strides.back()[i] == strides[i] * dim.extent;
    if (merges) {
      nest.extents.back() *= dim.extent;
      nest.strides.back() = strides;
    } else {
      nest.extents.push_back(dim.extent);
      nest.strides.push_back(strides);
    }
  }
  if (nest.extents.empty()) {
    nest.extents.push_back(1);
    nest.strides.push_back({});
  }
  return nest;
}

// row(offsets, strides, n): n elements from `offsets` on, `strides` apart.
template <std::size_t N, class Row>
void for_rows(const Nest<N>& nest, Row&& row) {
  const std::size_t outer = nest.extents.size() - 1;
  for (std::int64_t extent : nest.extents) {
    if (extent == 0) return;
  }
  std::vector<std::int64_t> at(outer, 0);
  std::array<std::int64_t, N> offsets{};
  for (;;) {
    row(offsets, nest.strides[outer], nest.extents[outer]);
    std::size_t dim = outer;
    for (; dim > 0; --dim) {
      const auto& strides = nest.strides[dim - 1];
      for (std::size_t i = 0; i < N; ++i) offsets[i] += strides[i];
      if (++at[dim - 1] < nest.extents[dim - 1]) break;
      at[dim - 1] = 0;
      for (std::size_t i = 0; i < N; ++i) offsets[i] -= strides[i] * nest.extents[dim - 1];
    }
    if (dim == 0) return;
  }
}

}  // namespace tessera::ir::interp
