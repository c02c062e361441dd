// A mask as a picture sees it: boxes of queries x keys, each without a live pair, full of them, or neither. Boxes of
// one pair each are the mask itself; boxes of a kernel's tiles are what it visits. Boxes come from a plan, so that a
// picture of a million tokens costs what its boxes do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tessera/dsl/mask/pointwise.h>

namespace tessera::draw {

enum class Kind : std::uint8_t { empty, partial, full };

struct TileView {
  std::int64_t queries = 0, keys = 0;  // tokens
  int query_tile = 1, key_tile = 1;    // of a box
  std::int64_t rows = 0, columns = 0;  // boxes
  std::string query_order, key_order;  // of tokens, as digits: [1:128]
  std::vector<Kind> kinds;             // row after row

  Kind at(std::int64_t row, std::int64_t column) const {
    return kinds[static_cast<std::size_t>(row * columns + column)];
  }
  std::int64_t count(Kind kind) const;
};

struct ViewRequest {
  std::int64_t queries = 0, keys = 0, head = 0, batch = 0;
  int query_tile = 128, key_tile = 128;
};
// UserErrors: lengths that the mask is not made for, more boxes than a picture has room for.
TileView tile_view(const mask::Pointwise& predicate, const ViewRequest& request);

// With the smallest boxes of which so many rows and columns hold the mask, all of one shape in tokens: a row is
// `aspect` times as high as a column is wide.
struct Canvas {
  int rows, columns;
  double aspect = 1;
};
TileView scaled_view(const mask::Pointwise& predicate, ViewRequest request, const Canvas& canvas);

std::string summary(const TileView& view);  // "12 of 64 visited (7 full, 5 partial): 81.2 % skipped"

}  // namespace tessera::draw
