// Plans against brute force: every pattern, tile sizes, lengths around tiles, more and fewer queries than keys.
#include <doctest/doctest.h>

#include "dsl/mask/maps.h"
#include "dsl/mask/predicates.h"
#include "support/sanitized.h"

using namespace tessera;
using namespace tessera::testing;

namespace {

struct Lengths {
  std::int64_t queries, keys;
};
constexpr Lengths kLengths[] = {{0, 0},       {0, 5},       {5, 0},      {1, 1},      {63, 63}, {64, 64},
                                {65, 65},     {1, 1000},    {64, 1000},  {65, 64},    {63, 65}, {1000, 64},
                                {1000, 1000}, {1000, 1111}, {777, 2048}, {2048, 1000}};
constexpr int kTiles[][2] = {{64, 64}, {128, 128}, {128, 80}, {192, 80}};

mask::PlanRequest request(Lengths n, const int (&tile)[2]) {
  mask::PlanRequest r;
  r.query_length = n.queries, r.key_length = n.keys, r.query_tile = tile[0], r.key_tile = tile[1];
  return r;
}

void check_equal(const TileMap& got, const TileMap& want) {
  const Difference d = compare(got, want);
  CHECK(d.unsound == 0);
  CHECK(d.kept == 0);
  CHECK(d.lost == 0);
}

}  // namespace

TEST_CASE("lists and closed forms equal the tile map by brute force, these also at lengths they were not planned for") {
  const std::vector<NamedMask> planned = catalogue(500, 600);
  for (const Lengths& n : kLengths) {
    if (test::kSanitized && n.queries * n.keys > 100'000) continue;
    const std::vector<NamedMask> masks = catalogue(n.queries, n.keys);
    for (std::size_t i = 0; i < masks.size(); ++i) {
      const Oracle oracle(masks[i].mask, request(n, kTiles[0]));
      for (const auto& tile : kTiles) {
        CAPTURE(masks[i].name);
        CAPTURE(n.queries);
        CAPTURE(n.keys);
        CAPTURE(tile[0]);
        CAPTURE(tile[1]);
        const TileMap want = oracle.tiles(tile[0], tile[1]);
        mask::PlanRequest r = request(n, tile);
        r.allow_spans = false;
        check_equal(visited(mask::make_plan(masks[i].mask, r), masks[i].mask, r), want);
        const mask::Plan plan = mask::make_plan(planned[i].mask, request({500, 600}, tile));
        CAPTURE(plan.reason);
        CHECK(std::holds_alternative<mask::Spans>(plan.passes[0].sources[0].schedule) == planned[i].closed_form);
        if (planned[i].closed_form) check_equal(visited(plan, masks[i].mask, r), want);
      }
    }
  }
}
