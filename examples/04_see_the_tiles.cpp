// Lesson 4. What geometry makes of a mask, as a picture: the tiles that are skipped, full, or decided by the predicate.
//
//   04_see_the_tiles [FOLDER]      writes FOLDER/tiles.svg; without one, tiles.svg where it is started
#include <cstdio>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include <tessera/attention.h>
#include <tessera/dsl/mask/planner.h>

#include "support.h"

using namespace tessera;

namespace {

constexpr int kTokens = 4096, kTile = 128, kTiles = kTokens / kTile, kSquare = 5, kSide = kTiles * kSquare;

enum Kind { empty, partial, full_tile };

// The kind of every tile, row by row. The plan lists those to visit; it is made from intervals, not from 4096 x 4096
// pairs.
std::vector<Kind> tiles_of(const Mask& mask) {
  mask::PlanRequest request;
  request.query_length = request.key_length = kTokens;
  request.query_tile = request.key_tile = kTile;
  request.allow_spans = false;
  const mask::Plan plan = mask::make_plan(mask.predicate(), request);
  const auto& list = std::get<mask::TileList>(plan.passes.front().sources.front().schedule);
  std::vector<Kind> kinds(kTiles * kTiles, empty);
  for (int place = 0; place < kTiles; ++place) {
    const auto [first, partials, fulls, query_tile] = list.row(place);
    for (int i = 0; i < partials + fulls; ++i) {
      kinds[query_tile * kTiles + list.tiles[first + i]] = i < partials ? partial : full_tile;
    }
  }
  return kinds;
}

// All tiles of one kind, as one path of squares.
std::string path_of(const std::vector<Kind>& kinds, Kind kind, const char* style) {
  std::string squares;
  for (int i = 0; i < kTiles * kTiles; ++i) {
    if (kinds[i] == kind) squares += fmt::format("M{} {}h4v4h-4z", i % kTiles * kSquare, i / kTiles * kSquare);
  }
  return fmt::format("<path class=\"{}\" d=\"{}\"/>\n", style, squares);
}

std::string draw(const std::string& name, const std::vector<Kind>& kinds, int left) {
  const auto visited = kinds.size() - static_cast<std::size_t>(std::count(kinds.begin(), kinds.end(), empty));
  return fmt::format("<g transform=\"translate({},24)\">\n<rect class=\"skipped\" width=\"{}\" height=\"{}\"/>\n", left,
                     kSide, kSide) +
         path_of(kinds, partial, "partial") + path_of(kinds, full_tile, "full") +
         fmt::format("<text y=\"-8\">{}</text>\n<text y=\"{}\">{:.1f} % of the tiles visited</text>\n</g>\n", name,
                     kSide + 16, 100.0 * static_cast<double>(visited) / static_cast<double>(kinds.size()));
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
    const auto kinds = tiles_of(mask);
    example::check(std::count(kinds.begin(), kinds.end(), empty) > kTiles * kTiles / 2, "most tiles are skipped");
    svg += draw(name, kinds, left);
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
