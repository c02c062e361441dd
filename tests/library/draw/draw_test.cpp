// Pictures say what masks say: views against the predicate at every pair, and texts, SVG and PNG read back to the view
// that they were made of.
#include <zlib.h>

#include <cstring>
#include <sstream>

#include <doctest/doctest.h>

#include <tessera/dsl/mask/expression.h>
#include <tessera/library/draw/picture.h>
#include <tessera/library/patterns.h>

using namespace tessera;
using draw::Kind;
using draw::TileView;

namespace {

Kind kind_of(const Mask& mask, const draw::ViewRequest& r, std::int64_t row, std::int64_t column) {
  bool any = false, all = (column + 1) * r.key_tile <= r.keys;
  for (std::int64_t q = row * r.query_tile; q < std::min(r.queries, (row + 1) * r.query_tile); ++q)
    for (std::int64_t k = column * r.key_tile; k < std::min(r.keys, (column + 1) * r.key_tile); ++k) {
      const bool live = mask::allows(mask.predicate(), {q, k, r.head, r.batch, r.queries, r.keys});
      any |= live, all &= live;
    }
  return all ? Kind::full : any ? Kind::partial : Kind::empty;
}

void check_view(const Mask& mask, const draw::ViewRequest& r) {
  const TileView view = draw::tile_view(mask.predicate(), r);
  REQUIRE(view.rows == (r.queries + r.query_tile - 1) / r.query_tile);
  REQUIRE(view.columns == (r.keys + r.key_tile - 1) / r.key_tile);
  int wrong = 0;
  for (std::int64_t row = 0; row < view.rows; ++row)
    for (std::int64_t column = 0; column < view.columns; ++column)
      wrong += view.at(row, column) != kind_of(mask, r, row, column);
  CHECK(wrong == 0);
  CHECK(view.count(Kind::full) + view.count(Kind::partial) + view.count(Kind::empty) == view.rows * view.columns);
}

TileView example() {
  return draw::tile_view(Mask(window(2, 0)).predicate(), {.queries = 8, .keys = 10, .query_tile = 2, .key_tile = 2});
}

// The kinds that the paths of one panel draw.
std::vector<Kind> read_svg(const std::string& svg, std::size_t from, const TileView& like) {
  std::vector<Kind> kinds(like.kinds.size(), Kind::empty);
  const std::size_t end = svg.find("</g>", from);
  for (auto [kind, style] :
       {std::pair{Kind::partial, "<path class=\"partial\" d=\""}, {Kind::full, "<path class=\"full\" d=\""}}) {
    std::size_t at = svg.find(style, from);
    if (at == std::string::npos || at > end) continue;
    at += std::strlen(style);
    std::istringstream path(svg.substr(at, svg.find('"', at) - at));
    for (char letter; path >> letter;) {
      std::int64_t column, row, length, back;
      REQUIRE(letter == 'M');
      path >> column >> row;
      path.ignore(1) >> length;  // h
      path.ignore(3) >> back;    // v1h
      path.ignore(1);            // z
      CHECK(back == -length);
      for (std::int64_t i = 0; i < length; ++i) kinds[static_cast<std::size_t>(row * like.columns + column + i)] = kind;
    }
  }
  return kinds;
}

struct Png {
  std::uint32_t width, height;
  std::string palette, pixels;  // pixels: one byte each, row after row
  const unsigned char* colour(std::uint32_t x, std::uint32_t y) const {
    return reinterpret_cast<const unsigned char*>(&palette[3 * static_cast<unsigned char>(pixels[y * width + x])]);
  }
};

std::uint32_t number_at(const std::string& bytes, std::size_t at) {
  std::uint32_t n = 0;
  for (std::size_t i = 0; i < 4; ++i) n = n << 8 | static_cast<unsigned char>(bytes[at + i]);
  return n;
}

Png read_png(const std::string& bytes) {
  REQUIRE(bytes.substr(0, 8) == "\x89PNG\r\n\x1a\n");
  Png png{};
  std::string data;
  std::vector<std::string> types;
  for (std::size_t at = 8; at < bytes.size();) {
    const std::uint32_t size = number_at(bytes, at);
    const std::string type = bytes.substr(at + 4, 4), body = bytes.substr(at + 8, size);
    const std::string sum = type + body;
    CHECK(number_at(bytes, at + 8 + size) ==
          crc32(0, reinterpret_cast<const Bytef*>(sum.data()), static_cast<uInt>(sum.size())));
    if (type == "IHDR") {
      png.width = number_at(body, 0), png.height = number_at(body, 4);
      CHECK(body.substr(8) == std::string("\x08\x03\x00\x00\x00", 5));
    }
    if (type == "PLTE") png.palette = body;
    if (type == "IDAT") data = body;
    types.push_back(type);
    at += 12 + size;
  }
  CHECK(types == std::vector<std::string>{"IHDR", "PLTE", "IDAT", "IEND"});
  uLongf size = (png.width + 1) * png.height;
  std::string rows(size, '\0');
  REQUIRE(uncompress(reinterpret_cast<Bytef*>(rows.data()), &size, reinterpret_cast<const Bytef*>(data.data()),
                     data.size()) == Z_OK);
  REQUIRE(size == rows.size());
  for (std::uint32_t y = 0; y < png.height; ++y) {
    CHECK(rows[y * (png.width + 1)] == 0);
    png.pixels += rows.substr(y * (png.width + 1) + 1, png.width);
  }
  return png;
}

}  // namespace

TEST_CASE("a view is the predicate, box by box") {
  const Mask near = neighborhood(Grid{6, 8}, {.window = 3}), heads = per_head({causal, window(3, 3)}, {0, 1});
  for (auto [query_tile, key_tile] : {std::pair{1, 1}, {4, 4}, {16, 5}, {100, 100}}) {
    check_view(near, {48, 48, 0, 0, query_tile, key_tile});
    for (std::int64_t head : {0, 1}) check_view(heads, {40, 55, head, 0, query_tile, key_tile});
    check_view(padding({4, 30}), {40, 30, 0, 1, query_tile, key_tile});
    check_view(causal, {0, 7, 0, 0, query_tile, key_tile});
  }
  CHECK(draw::summary(example()) == "8 of 20 visited (0 full, 8 partial): 60.0 % skipped");
}

TEST_CASE("a scaled view holds the mask, in boxes of the shape that was asked for") {
  for (auto [queries, keys] : {std::pair{4096, 4096}, {100, 4000}, {4000, 100}, {20, 20}, {1, 1}, {0, 5}})
    for (const draw::Canvas& canvas : {draw::Canvas{32, 64, 2}, {256, 256}, {7, 5, 1.5}}) {
      const TileView view = draw::scaled_view(Mask(causal).predicate(), {.queries = queries, .keys = keys}, canvas);
      CHECK(view.rows <= canvas.rows);
      CHECK(view.columns <= canvas.columns);
      CHECK(std::abs(view.query_tile - canvas.aspect * view.key_tile) <= canvas.aspect + 1);
      CHECK(
          (view.rows == 0 || view.query_tile == 1 || 2 * view.rows > canvas.rows || 2 * view.columns > canvas.columns));
    }
}

TEST_CASE("on a terminal") {
  CHECK(draw::to_terminal(example()) ==
        "▒▒···\n"
        "·▒▒··\n"
        "··▒▒·\n"
        "···▒▒\n"
        "rows are queries, columns keys; a mark is 2 x 2 of them: █ all live, ▒ some, · none\n");
  const TileView full = draw::tile_view(Mask().predicate(), {.queries = 3, .keys = 2, .query_tile = 2, .key_tile = 2});
  CHECK(draw::to_terminal(full).starts_with("█\n█\nrows"));
}

TEST_CASE("SVG draws every box of both panels, and nothing else") {
  const TileView small = example(),
                 large = draw::tile_view(Mask(sink_window(9, 20)).predicate(),
                                         {.queries = 90, .keys = 70, .query_tile = 8, .key_tile = 4});
  const std::string svg = draw::to_svg({{small, "a < b & c", {"first note"}}, {large, "other", {}}}, "sinks \"9\"");
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 "));
  CHECK(svg.ends_with("</svg>\n"));
  for (const char* text :
       {">a &lt; b &amp; c</text>", ">first note</text>", ">sinks &quot;9&quot;</text>", ">all live</text>"})
    CHECK(svg.find(text) != std::string::npos);
  const std::size_t first = svg.find("<g transform"), second = svg.find("<g transform", first + 1);
  CHECK(read_svg(svg, first, small) == small.kinds);
  CHECK(read_svg(svg, second, large) == large.kinds);
  CHECK(large.count(Kind::full) > 0);
  // 90 queries to 70 keys: the picture has that shape, and ends with the tokens.
  CHECK(svg.find("<svg width=\"248.89\" height=\"320.00\" viewBox=\"0 0 17.5000 11.2500\"") != std::string::npos);
}

TEST_CASE("PNG has every box in its colour, of both panels") {
  const TileView small = example(),
                 large = draw::tile_view(Mask(sink_window(9, 20)).predicate(),
                                         {.queries = 90, .keys = 70, .query_tile = 1, .key_tile = 2});
  const Png png = read_png(draw::to_png({{small, "", {}}, {large, "", {}}}));
  CHECK(png.palette.size() == 15);
  const unsigned char colours[][3] = {{248, 248, 248}, {156, 196, 228}, {27, 79, 114}};
  std::uint32_t left = 12;
  for (const TileView* view : {&small, &large}) {
    const std::uint32_t row = view == &small ? 102 : 5, column = view == &small ? 102 : 11;  // pixels of a box
    int wrong = 0;
    for (std::uint32_t r = 0; r < view->rows; ++r)
      for (std::uint32_t c = 0; c < view->columns; ++c)
        for (auto [x, y] :
             {std::pair{left + c * column, 12 + r * row}, {left + (c + 1) * column - 1, 12 + (r + 1) * row - 1}})
          wrong += std::memcmp(png.colour(x, y), colours[static_cast<int>(view->at(r, c))], 3) != 0;
    CHECK(wrong == 0);
    left += static_cast<std::uint32_t>(view->columns) * column + 24;
  }
  CHECK(png.width == left - 24 + 12);
  CHECK(png.height == 12 + 90 * 5 + 12);
}

TEST_CASE("what cannot be drawn is said") {
  const Mask grid = swin(Grid{8, 8}, {.window = 4});
  CHECK_THROWS_AS(draw::tile_view(grid.predicate(), {.queries = 64, .keys = 63}), UserError);
  CHECK_THROWS_WITH_AS(draw::tile_view(Mask(causal).predicate(), {.queries = 1 << 20, .keys = 1 << 20}),
                       "error: a picture of 8192 x 8192 tiles has more than 16777216; note: draw larger tiles",
                       UserError);
}
