// Generalized neighborhood attention: worked examples, its rules as properties, and a thousand random settings.
#include "library/catalogue/neighborhood_rule.h"

#include <random>
#include <set>

#include <doctest/doctest.h>

#include <tessera/dsl/mask/expression.h>
#include <tessera/dsl/mask/planner.h>
#include <tessera/library/patterns.h>

#include "dsl/mask/maps.h"
#include "library/catalogue/catalogue.h"
#include "support/sanitized.h"

using namespace tessera;
using namespace tessera::test;

namespace {

using Keys = std::vector<std::int64_t>;

std::vector<Keys> keys_of(const Mask& mask, std::int64_t queries, std::int64_t keys) {
  mask::Expressions e(mask.predicate());
  mask::PointProgram program(e, e.body({}, true));
  std::vector<Keys> seen(static_cast<std::size_t>(queries));
  for (std::int64_t q = 0; q < queries; ++q)
    for (std::int64_t k = 0; k < keys; ++k)
      if (program.test({q, k, 0, 0, queries, keys, 0, 0, 0})) seen[static_cast<std::size_t>(q)].push_back(k);
  return seen;
}

std::vector<Keys> keys_of(const NeighborhoodAxis& axis) {
  return keys_of(neighborhood({axis}), axis.length, axis.length);
}

// Runs of queries with the same keys.
std::vector<Keys> groups(std::initializer_list<std::pair<int, Keys>> runs) {
  std::vector<Keys> all;
  for (const auto& [count, keys] : runs) all.insert(all.end(), static_cast<std::size_t>(count), keys);
  return all;
}

struct Setting {
  std::vector<NeighborhoodAxis> axes;
  std::int64_t extra = 0;
};

// Up to about 200 tokens in one to three axes.
Setting random_setting(std::mt19937_64& random) {
  const auto draw = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  Setting s;
  const std::int64_t rank = draw(1, 3), most = rank == 1 ? 180 : rank == 2 ? 14 : 6;
  for (std::int64_t i = 0; i < rank; ++i) {
    NeighborhoodAxis a;
    a.length = draw(1, most);
    a.window = draw(1, a.length);
    a.stride = draw(1, a.window);
    a.dilation = draw(1, a.length / a.window);
    a.causal = draw(0, 1) == 1;
    s.axes.push_back(a);
  }
  if (draw(0, 3) == 0) s.extra = draw(1, 20);
  return s;
}

}  // namespace

TEST_CASE("worked examples") {
  // An even window leans to the left, and is moved inwards at the edges.
  CHECK(keys_of({.length = 8, .window = 4}) ==
        groups({{3, {0, 1, 2, 3}}, {1, {1, 2, 3, 4}}, {1, {2, 3, 4, 5}}, {1, {3, 4, 5, 6}}, {2, {4, 5, 6, 7}}}));
  // An even stride has the right one of its two middle queries for a leader.
  CHECK(keys_of({.length = 10, .window = 4, .stride = 2}) ==
        groups({{2, {0, 1, 2, 3}}, {2, {1, 2, 3, 4}}, {2, {3, 4, 5, 6}}, {2, {5, 6, 7, 8}}, {2, {6, 7, 8, 9}}}));
  // Blocks, the last of which overlaps the one before.
  CHECK(keys_of({.length = 10, .window = 4, .stride = 4}) ==
        groups({{4, {0, 1, 2, 3}}, {4, {4, 5, 6, 7}}, {2, {6, 7, 8, 9}}}));
  CHECK(keys_of({.length = 9, .window = 4, .stride = 3, .causal = true}) ==
        std::vector<Keys>{{0}, {0, 1}, {0, 1, 2}, {2, 3}, {2, 3, 4}, {2, 3, 4, 5}, {5, 6}, {5, 6, 7}, {5, 6, 7, 8}});
  // Classes of six and five tokens.
  CHECK(keys_of({.length = 11, .window = 3, .stride = 2, .dilation = 2}) == std::vector<Keys>{{0, 2, 4},
                                                                                              {1, 3, 5},
                                                                                              {0, 2, 4},
                                                                                              {1, 3, 5},
                                                                                              {4, 6, 8},
                                                                                              {5, 7, 9},
                                                                                              {4, 6, 8},
                                                                                              {5, 7, 9},
                                                                                              {6, 8, 10},
                                                                                              {5, 7, 9},
                                                                                              {6, 8, 10}});
  CHECK(
      keys_of({.length = 11, .window = 3, .stride = 2, .dilation = 2, .causal = true}) ==
      std::vector<Keys>{{0}, {1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {2, 4, 6}, {3, 5, 7}, {6, 8}, {5, 7, 9}, {6, 8, 10}});
}

TEST_CASE("every query sees itself; without causality always as many keys") {
  for (std::int64_t length : {1, 7, 16, 21})
    for (std::int64_t window = 1; window <= length; ++window)
      for (std::int64_t stride = 1; stride <= window; ++stride)
        for (std::int64_t dilation = 1; dilation <= length / window; ++dilation)
          for (bool causal : {false, true}) {
            const auto seen = keys_of(NeighborhoodAxis{length, window, stride, dilation, causal});
            bool self = true, count = true;
            for (std::size_t q = 0; q < seen.size(); ++q) {
              self = self && std::count(seen[q].begin(), seen[q].end(), q) == 1;
              count = count && (causal || static_cast<std::int64_t>(seen[q].size()) == window);
            }
            CAPTURE(length);
            CAPTURE(window);
            CAPTURE(stride);
            CAPTURE(dilation);
            CHECK(self);
            CHECK(count);
          }
}

TEST_CASE("a window of the whole axis is full attention, and a stride as wide as the window blocks") {
  const std::int64_t n = 24;
  CHECK(keys_of({.length = n, .window = n, .stride = 5}) == keys_of(full, n, n));
  for (std::int64_t w : {1, 2, 3, 6, 12})
    CHECK(keys_of({.length = n, .window = w, .stride = w}) == keys_of(block_diagonal(static_cast<int>(w)), n, n));
  CHECK(keys_of({.length = n, .window = 7, .causal = true}) == keys_of(window(6, 0), n, n));
}

TEST_CASE("a thousand random settings: every pair, and the tiles of the plan") {
  std::mt19937_64 random(20250423);
  int causal = 0, dilated = 0, strided = 0;
  std::set<std::size_t> ranks;
  const int settings = kSanitized ? 150 : 1000;
  for (int i = 0; i < settings; ++i) {
    const Setting s = random_setting(random);
    std::vector<std::int64_t> grid;
    std::vector<AxisRule> rules;
    for (const NeighborhoodAxis& a : s.axes) {
      grid.push_back(a.length);
      rules.push_back({a.length, a.window, a.stride, a.dilation, a.causal});
      causal += a.causal, dilated += a.dilation > 1, strided += a.stride > 1;
    }
    ranks.insert(grid.size());
    const std::int64_t tokens = tokens_in(grid), keys = tokens + s.extra;
    const Mask mask = neighborhood(s.axes, s.extra);
    mask::PlanRequest r;
    r.query_length = tokens, r.key_length = keys, r.query_tile = 16, r.key_tile = i % 2 ? 16 : 8;
    const testing::Oracle oracle(mask.predicate(), r);
    std::int64_t differ = 0;
    for (std::int64_t q = 0; q < tokens; ++q)
      for (std::int64_t k = 0; k < keys; ++k) {
        bool want = true;
        if (k < tokens) {
          const auto a = place_in(grid, q), b = place_in(grid, k);
          for (std::size_t axis = 0; axis < grid.size(); ++axis) want = want && rules[axis].sees(a[axis], b[axis]);
        }
        differ += oracle.live(q, k) != want;
      }
    CAPTURE(i);
    CHECK(differ == 0);
    const auto d = testing::compare(testing::visited(mask::make_plan(mask.predicate(), r), mask.predicate(), r),
                                    oracle.tiles(r.query_tile, r.key_tile));
    CHECK(d.unsound == 0);
    CHECK(d.kept == 0);
    CHECK(d.lost == 0);
  }
  CHECK(ranks.size() == 3);
  CHECK(std::min({causal, dilated, strided}) > settings * 3 / 10);
}
