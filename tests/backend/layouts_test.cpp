#include <doctest/doctest.h>

#include <tessera/backend/layouts.h>
#include <set>

#include "backend/tiled_kernels.h"

using namespace tessera;
using namespace tessera::ir;

namespace {

// Every element of the tile is held, and as often by as many places as replication says.
void check_onto(const Layout& layout, Dim row, Dim column) {
  std::multiset<std::pair<int, int>> seen;
  for (int r = 0; r < layout.size(Part::reg); ++r)
    for (int l = 0; l < layout.size(Part::lane); ++l)
      for (int w = 0; w < layout.size(Part::warp); ++w)
        seen.insert({row.axis ? layout.at(row.axis, r, l, w) : 0, layout.at(column.axis, r, l, w)});
  const int elements = (row.axis ? row.extent : 1) * column.extent;
  REQUIRE(static_cast<int>(seen.size()) % elements == 0);
  const std::size_t copies = seen.size() / elements;
  for (int i = 0; i < (row.axis ? row.extent : 1); ++i)
    for (int j = 0; j < column.extent; ++j) REQUIRE(seen.count({i, j}) == copies);
}

const Axis row = Axis::named("Query"), column = Axis::named("Key");

}  // namespace

TEST_CASE("the accumulator layout is one to one for every width") {
  for (int rows : {64, 128, 192})
    for (int columns : {8, 24, 80, 128, 256}) {
      const Layout layout = backend::accumulator_layout({row, rows}, {column, columns});
      CHECK(layout.size(Part::lane) == 32);
      CHECK(layout.size(Part::reg) * 32 * layout.size(Part::warp) == rows * columns);
      check_onto(layout, {row, rows}, {column, columns});
    }
}

TEST_CASE("the accumulator layout is the one the hardware has") {
  const Layout layout = backend::accumulator_layout({row, 64}, {column, 80});
  for (int r = 0; r < 40; ++r)
    for (int lane = 0; lane < 32; ++lane)
      for (int warp = 0; warp < 4; ++warp) {
        CHECK(layout.at(row, r, lane, warp) == 16 * warp + lane / 4 + 8 * ((r >> 1) & 1));
        CHECK(layout.at(column, r, lane, warp) == 8 * (r >> 2) + 2 * (lane % 4) + (r & 1));
      }
}

TEST_CASE("blocked layouts cover tiles of any extents") {
  for (int rows : {1, 2, 3, 16, 20, 64})
    for (int columns : {1, 3, 8, 24, 40, 64, 120, 256}) {
      const Layout layout = backend::blocked_layout({row, rows}, {column, columns}, 4);
      CHECK(layout.size(Part::lane) == 32);
      CHECK(layout.size(Part::warp) == 4);
      check_onto(layout, {row, rows}, {column, columns});
    }
  check_onto(backend::blocked_layout({}, {column, 512}, 4), {}, {column, 512});
}

TEST_CASE("one rule places all tiles of a kernel") {
  const Kernel kernel = test::tiled_attention();
  const backend::LayoutRule rule(kernel);
  CHECK(rule.row().axis.name() == "Query");
  const Type scores = rule.place(Type::tile(DType::f32, {{row, 128}, {column, 64}}));
  const Type maxima = rule.place(Type::tile(DType::f32, {{row, 128}}));
  CHECK(*maxima.layout == scores.layout->slice(column));
  CHECK(rule.place(Type::scalar(DType::i32)).layout == nullptr);
  CHECK_FALSE(backend::LayoutRule(test::tiled_rows()).has_products());
}
