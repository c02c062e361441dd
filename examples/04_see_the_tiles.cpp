// Lesson 4. What geometry makes of a mask, as a picture: the tiles that are skipped, full, or decided by the predicate.
//
//   04_see_the_tiles [FOLDER]      writes FOLDER/tiles.svg; without one, tiles.svg where it is started
#include <cstdio>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include <tessera/attention.h>
#include <tessera/library/draw/tile_view.h>

#include "support.h"

using namespace tessera;

namespace {

constexpr int kTokens = 4096, kTile = 128, kTiles = kTokens / kTile, kSquare = 5, kSide = kTiles * kSquare;

// The kind of every tile, row by row; it is made from intervals, not from 4096 x 4096 pairs.
draw::TileView tiles_of(const Mask& mask) {
  return draw::tile_view(mask.predicate(),
                         {.queries = kTokens, .keys = kTokens, .query_tile = kTile, .key_tile = kTile});
}

// All tiles of one kind, as one path of squares.
std::string path_of(const draw::TileView& tiles, draw::Kind kind, const char* style) {
  std::string squares;
  for (int row = 0; row < kTiles; ++row) {
    for (int column = 0; column < kTiles; ++column) {
      if (tiles.at(row, column) == kind) squares += fmt::format("M{} {}h4v4h-4z", column * kSquare, row * kSquare);
    }
  }
  return fmt::format("<path class=\"{}\" d=\"{}\"/>\n", style, squares);
}

double visited(const draw::TileView& tiles) {
  return 1 - static_cast<double>(tiles.count(draw::Kind::empty)) / (kTiles * kTiles);
}

std::string picture(const std::string& name, const draw::TileView& tiles, int left) {
  return fmt::format("<g transform=\"translate({},24)\">\n<rect class=\"skipped\" width=\"{}\" height=\"{}\"/>\n", left,
                     kSide, kSide) +
         path_of(tiles, draw::Kind::partial, "partial") + path_of(tiles, draw::Kind::full, "full") +
         fmt::format("<text y=\"-8\">{}</text>\n<text y=\"{}\">{:.1f} % of the tiles visited</text>\n</g>\n", name,
                     kSide + 16, 100 * visited(tiles));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) {
    std::fputs("04_see_the_tiles [FOLDER]\n", stderr);
    return 1;
  }
  Table doc(document_ids({900, 300, 1500, 196, 1200}));
  Grid image{64, 64};
  const std::pair<const char*, Mask> masks[] = {
      {"window of 1024", window(1023, 0)},
      {"sinks and window", causal & (sinks(4) | window(511, 0))},
      {"documents", causal & [doc](Position q, Position k) { return doc[q] == doc[k]; }},
      {"17 x 17 of a 64 x 64 image", [image](Position q, Position k) {
         auto [qy, qx] = image(q);
         auto [ky, kx] = image(k);
         return abs(qy - ky) <= 8 && abs(qx - kx) <= 8;
       }}};

  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 730 208\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<style>.skipped{fill:#fff;stroke:#bbb}.partial{fill:#9cc4e4}.full{fill:#1b4f72}text{fill:#777}</style>\n";
  int left = 5;
  for (const auto& [name, mask] : masks) {
    const draw::TileView tiles = tiles_of(mask);
    example::check(visited(tiles) < 0.5, "most tiles are skipped");
    svg += picture(name, tiles, left);
    left += 185;
  }
  const std::string path = argc == 2 ? std::string(argv[1]) + "/tiles.svg" : "tiles.svg";
  std::ofstream file(path);
  file << svg << "</svg>\n";
  file.close();
  if (!file) {
    std::fprintf(stderr, "%s cannot be written\n", path.c_str());
    return 1;
  }
  std::printf("%s\n", path.c_str());
}
