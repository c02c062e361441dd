// The order of programs follows from the mask: long rows first, the same for all lengths. Lists bring their own.
#include <tessera/dsl/mask/work_order.h>

#include <algorithm>
#include <optional>

#include <doctest/doctest.h>

#include <tessera/dsl/mask/planner.h>

#include "dsl/mask/predicates.h"

using namespace tessera;
using namespace tessera::testing;

namespace {

const ir::WorkOrder kPlain{}, kLastFirst{.section = 8, .descending = true}, kFirstFirst{.section = 8};

struct Lengths {
  std::int64_t queries, keys;
};

// The one order of a mask at lengths from a token to many, of one tile shape.
ir::WorkOrder order_of(const mask::Pointwise& m, int query_tile = 128, int key_tile = 128) {
  std::optional<ir::WorkOrder> order;
  for (const Lengths n : {Lengths{1, 1}, {64, 64}, {1000, 1000}, {16384, 16384}, {1, 5000}, {5000, 77}}) {
    mask::PlanRequest r;
    r.query_length = n.queries, r.key_length = n.keys;
    r.query_tile = query_tile, r.key_tile = key_tile;
    r.heads = 3, r.batch = 2;
    const mask::Plan plan = mask::make_plan(m, r);
    if (!order) order = plan.passes.at(0).order;
    CAPTURE(n.queries);
    CAPTURE(n.keys);
    CHECK(plan.passes.at(0).order == *order);
    CHECK(mask::replan(plan, m, r).passes.at(0).order == *order);
  }
  return *order;
}

// (q, k) -> condition, aligned at the last tokens.
template <class F>
mask::Pointwise aligned(const F& f) {
  return predicate("aligned", [&](Args& a) { return f(a.q + (a.key_length - a.query_length), a.k); });
}

}  // namespace

TEST_CASE("masks whose later queries see more keys go from the last query tile to the first, 8 heads at a time") {
  CHECK(order_of(predicate("causal", [](Args& a) { return a.k <= a.q; })) == kLastFirst);
  CHECK(order_of(aligned([](Expr q, Expr k) { return k <= q; })) == kLastFirst);
  CHECK(order_of(predicate("prefix", [](Args& a) { return (a.k < 200) | (a.k <= a.q); })) == kLastFirst);
}

TEST_CASE("masks whose later queries see fewer keys go from the first query tile on") {
  CHECK(order_of(predicate("from", [](Args& a) { return a.k >= a.q; })) == kFirstFirst);
  CHECK(order_of(aligned([](Expr q, Expr k) { return k > q; })) == kFirstFirst);
}

TEST_CASE("where all query tiles have as much to do, heads come one after the other") {
  CHECK(order_of(mask::everything()) == kPlain);
  CHECK(order_of(predicate("window", [](Args& a) { return (a.q - a.k <= 33) & (a.k - a.q <= 200); })) == kPlain);
  CHECK(order_of(aligned([](Expr q, Expr k) { return (k <= q) & (q - k <= 100); })) == kPlain);
  CHECK(order_of(predicate("blocks", [](Args& a) { return a.q / 100 == a.k / 100; })) == kPlain);
}

TEST_CASE("the order is that of the mask in any tiles") {
  const mask::Pointwise causal = aligned([](Expr q, Expr k) { return k <= q; });
  for (int query : {64, 128, 192})
    for (int key : {64, 80, 96, 128}) {
      CHECK(order_of(causal, query, key) == kLastFirst);
      CHECK(order_of(mask::everything(), query, key) == kPlain);
    }
}

TEST_CASE("key lengths that the device knows leave the order") {
  mask::PlanRequest r;
  r.query_length = r.key_length = 2000;
  r.batch = 2;
  r.key_lengths = {2000, 3};
  CHECK(mask::make_plan(aligned([](Expr q, Expr k) { return k <= q; }), r).passes.at(0).order == kLastFirst);
  CHECK(mask::make_plan(mask::everything(), r).passes.at(0).order == kPlain);
}

TEST_CASE("lists bring their own order: programs go along it, in sections while their keys fit the cache") {
  const auto order = [](const mask::Pointwise& m, std::int64_t keys) {
    mask::PlanRequest r;
    r.query_length = 200, r.key_length = keys;
    r.allow_spans = false;
    return mask::make_plan(m, r).passes.at(0).order;
  };
  for (const mask::Pointwise& m : {mask::everything(), predicate("causal", [](Args& a) { return a.k <= a.q; }),
                                   predicate("from", [](Args& a) { return a.k >= a.q; })}) {
    for (std::int64_t keys : {1, 2000, 16384}) CHECK(order(m, keys) == kFirstFirst);
    CHECK(order(m, 16385) == kPlain);
  }
  CHECK(mask::work_order_of_list(16384) == kFirstFirst);
  CHECK(mask::work_order_of_list(16385) == kPlain);
}

namespace {

// A row of a list: how much of what, for which query tile.
struct Row {
  std::int32_t partial, full, query_tile;
};

mask::TileList list_of(const std::vector<Row>& rows) {
  mask::TileList list;
  std::int32_t entry = 0;
  for (const Row& r : rows) {
    list.rows.insert(list.rows.end(), {entry, r.partial, r.full, r.query_tile});
    entry += r.partial + r.full;
  }
  return list;
}

// Query tiles in the order of the rows from `first` on, after sorting those; the rows themselves must be the old ones.
std::vector<std::int32_t> sorted(const std::vector<Row>& rows, std::size_t first = 0) {
  const mask::TileList before = list_of(rows);
  mask::TileList after = before;
  mask::TileList* const lists[] = {&after};
  mask::longest_first(lists, first);
  REQUIRE(after.rows.size() == before.rows.size());
  std::vector<std::int32_t> tiles;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = after.rows.begin() + static_cast<std::ptrdiff_t>(mask::TileList::kFields * i);
    tiles.push_back(row[3]);
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.query_tile == row[3]; });
    REQUIRE(same != rows.end());
    CHECK(std::equal(row, row + mask::TileList::kFields,
                     before.rows.begin() + mask::TileList::kFields * (same - rows.begin())));
  }
  return tiles;
}

using Tiles = std::vector<std::int32_t>;

}  // namespace

TEST_CASE("rows with most work come first, those with as much in the order of their query tiles") {
  CHECK(sorted({{0, 1, 0}, {0, 2, 1}, {0, 3, 2}}) == Tiles{2, 1, 0});
  CHECK(sorted({{0, 3, 0}, {0, 2, 1}, {0, 1, 2}}) == Tiles{0, 1, 2});
  CHECK(sorted({{0, 1, 0}, {0, 9, 1}, {0, 1, 2}, {0, 9, 3}, {0, 1, 4}, {0, 9, 5}}) == Tiles{1, 3, 5, 0, 2, 4});
  CHECK(sorted({{0, 0, 0}, {0, 5, 1}, {0, 0, 2}}) == Tiles{1, 0, 2});
  // Two partial tiles are as much work as three full ones.
  CHECK(sorted({{0, 2, 0}, {0, 3, 1}, {2, 0, 2}, {1, 0, 3}, {0, 1, 4}}) == Tiles{1, 2, 0, 3, 4});
}

TEST_CASE("rows of about the same work stay as they are: neighbours share keys") {
  CHECK(sorted({}) == Tiles{});
  CHECK(sorted({{3, 4, 0}}) == Tiles{0});
  CHECK(sorted({{0, 0, 0}, {0, 0, 1}}) == Tiles{0, 1});
  CHECK(sorted({{2, 0, 0}, {0, 3, 1}, {2, 0, 2}}) == Tiles{0, 1, 2});
  // The longest may have a twentieth more than a row has on average: 105 of 100.25, but not 106 of 100.3.
  std::vector<Row> rows(20, {0, 50, 0});
  Tiles ascending, last_first{19};
  for (std::int32_t i = 0; i < 20; ++i) {
    rows[static_cast<std::size_t>(i)].query_tile = i;
    ascending.push_back(i);
    if (i < 19) last_first.push_back(i);
  }
  rows[19] = {1, 51, 19};
  CHECK(sorted(rows) == ascending);
  rows[19] = {0, 53, 19};
  CHECK(sorted(rows) == last_first);
}

TEST_CASE("only the rows of the last class are sorted") {
  CHECK(sorted({{0, 1, 0}, {0, 9, 1}, {0, 2, 2}, {0, 8, 3}}, 2) == Tiles{0, 1, 3, 2});
  CHECK(sorted({{0, 1, 0}, {0, 9, 1}}, 2) == Tiles{0, 1});
}

TEST_CASE("work past 31 bits is counted") {
  constexpr std::int32_t many = 800'000'000;
  CHECK(sorted({{0, 1, 0}, {many, 0, 1}, {0, many, 2}}) == Tiles{1, 2, 0});
}

TEST_CASE("planned lists have their longest rows first, each class its own") {
  const auto tiles = [](const mask::Pointwise& m, int heads = 1) {
    mask::PlanRequest r;
    r.query_length = r.key_length = 1000;
    r.query_tile = r.key_tile = 128;
    r.heads = heads;
    r.allow_spans = false;
    const auto list = std::get<mask::TileList>(mask::make_plan(m, r).passes.at(0).sources.at(0).schedule);
    Tiles found;
    for (std::size_t i = 3; i < list.rows.size(); i += mask::TileList::kFields) found.push_back(list.rows[i]);
    return found;
  };
  const Tiles ascending{0, 1, 2, 3, 4, 5, 6, 7}, descending{7, 6, 5, 4, 3, 2, 1, 0};
  CHECK(tiles(predicate("causal", [](Args& a) { return a.k <= a.q; })) == descending);
  CHECK(tiles(predicate("from", [](Args& a) { return a.k >= a.q; })) == ascending);
  CHECK(tiles(mask::everything()) == ascending);
  CHECK(tiles(predicate("some rows", [](Args& a) { return a.q / 256 == 1; })) == Tiles{2, 3, 0, 1, 4, 5, 6, 7});
  Tiles both = descending;  // head 0 sees the past, head 1 the future
  both.insert(both.end(), ascending.begin(), ascending.end());
  const auto either = [](Args& a) { return ((a.head == 0) & (a.k <= a.q)) | ((a.head == 1) & (a.k >= a.q)); };
  CHECK(tiles(predicate("either", either), 2) == both);
}

TEST_CASE("halves of a twentieth more or less are even") {
  const auto order = [](std::int64_t visited, std::int64_t later) {
    mask::Counts counts;
    counts.total = 2 * visited, counts.visited = visited, counts.later = later;
    return mask::work_order(counts);
  };
  CHECK(order(0, 0) == kPlain);
  CHECK(order(1000, 500) == kPlain);
  CHECK(order(1000, 525) == kPlain);
  CHECK(order(1000, 526) == kLastFirst);
  CHECK(order(1000, 475) == kPlain);
  CHECK(order(1000, 474) == kFirstFirst);
  CHECK(order(1000, 1000) == kLastFirst);
  CHECK(order(1000, 0) == kFirstFirst);
}
