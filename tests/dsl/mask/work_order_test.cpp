// The order of programs follows from the mask: long rows first, the same for all lengths.
#include <tessera/dsl/mask/work_order.h>

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

TEST_CASE("lists are in plain order, whatever their mask") {
  mask::PlanRequest r;
  r.query_length = r.key_length = 2000;
  r.allow_spans = false;
  CHECK(mask::make_plan(predicate("causal", [](Args& a) { return a.k <= a.q; }), r).passes.at(0).order == kPlain);
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
