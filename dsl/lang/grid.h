// Coordinates of tokens that are laid out in rows: frames of a video, pixels of an image.
//
//   Grid video{30, 48, 80};                                    // t, y, x; x varies fastest
//   Mask near = [video](Position q, Position k) {
//     auto [qt, qy, qx] = video(q);
//     auto [kt, ky, kx] = video(k);
//     return abs(qy - ky) <= 4 && abs(qx - kx) <= 4;
//   };
//
// A sequence may have more tokens than the grid, as one whose number of frames is not known: the outermost extent
// bounds nothing, and its coordinate goes on counting. Where such tokens are padding, a mask says so: k <
// video.tokens().
//
// A lambda inside that lambda captures a coordinate as [qy = qy]: C++20 allows [qy] and [&], clang 14 does not.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include <tessera/dsl/lang/math.h>
#include <tessera/dsl/lang/position.h>

namespace tessera {

namespace detail {
void check_grid(const std::int64_t* extents, int rank, SourceLoc loc);
}

template <int Rank>
class Grid {
 public:
  std::array<std::int64_t, Rank> extents;

  explicit Grid(std::int64_t x, SourceLoc loc = SourceLoc::here())
    requires(Rank == 1)
      : Grid(std::array{x}, loc) {}
  Grid(std::int64_t y, std::int64_t x, SourceLoc loc = SourceLoc::here())
    requires(Rank == 2)
      : Grid(std::array{y, x}, loc) {}
  Grid(std::int64_t t, std::int64_t y, std::int64_t x, SourceLoc loc = SourceLoc::here())
    requires(Rank == 3)
      : Grid(std::array{t, y, x}, loc) {}
  explicit Grid(std::array<std::int64_t, Rank> n, SourceLoc loc = SourceLoc::here()) : extents(n) {
    detail::check_grid(extents.data(), Rank, loc);
  }

  std::int64_t tokens() const { return stride(-1); }
  std::int64_t stride(int i) const {  // tokens between neighbours along dimension i
    std::int64_t n = 1;
    for (int j = i + 1; j < Rank; ++j) n *= extents[static_cast<std::size_t>(j)];
    return n;
  }

  // The coordinates of a token, outermost first.
  std::array<Position, Rank> operator()(Position token, SourceLoc loc = SourceLoc::here()) const {
    return [&]<int... I>(std::integer_sequence<int, I...>) {
      return std::array<Position, Rank>{coordinate(I, token, loc)...};
    }(std::make_integer_sequence<int, Rank>{});
  }

 private:
  Position coordinate(int i, Position token, SourceLoc loc) const {
    const std::int64_t step = stride(i);
    const Position row = step == 1 ? token : Position(token / step, loc);
    return i == 0 ? row : Position(row % extents[static_cast<std::size_t>(i)], loc);
  }
};
template <std::integral X>
Grid(X) -> Grid<1>;
template <std::integral Y, std::integral X>
Grid(Y, X) -> Grid<2>;
template <std::integral T, std::integral Y, std::integral X>
Grid(T, Y, X) -> Grid<3>;

}  // namespace tessera
