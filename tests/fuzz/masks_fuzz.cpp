// Random predicates: box analysis, lists and spans against brute force, and tiled attention against fp64.
// TESSERA_FUZZ_SEEDS and TESSERA_FUZZ_FIRST choose other seeds; a failure names its own.
#include <doctest/doctest.h>

#include <cstdlib>

#include <tessera/dsl/ir/verify.h>
#include <tessera/dsl/mask/tile_map.h>
#include <tessera/dsl/passes/simplify.h>
#include <tessera/dsl/passes/tile_by_mask.h>

#include "dsl/mask/span_maps.h"
#include "dsl/passes/attention_program.h"
#include "fuzz/random_masks.h"

using namespace tessera;
using namespace tessera::testing;

namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

template <class F>
void for_seeds(std::uint64_t count, const F& f) {
  const std::uint64_t first = setting("TESSERA_FUZZ_FIRST", 0), seeds = setting("TESSERA_FUZZ_SEEDS", count);
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    CAPTURE(seed);
    f(seed);
  }
}

mask::PlanRequest random_request(Random& random, std::int64_t most) {
  mask::PlanRequest r;
  r.query_length = random.between(1, most), r.key_length = random.between(1, most);
  r.query_tile = static_cast<int>(random.between(1, 4)) * 8, r.key_tile = static_cast<int>(random.between(1, 4)) * 8;
  r.heads = 2;
  return r;
}

// Up to three digits that divide nothing, with tiles and origins.
mask::Order random_order(Random& random) {
  mask::Order order;
  std::int64_t weight = 1;
  const std::int64_t digits = random.between(1, 3);
  for (std::int64_t i = 0; i < digits; ++i) {
    const int tile = static_cast<int>(random.between(1, i == 0 ? 12 : 4));
    order.digits.insert(order.digits.begin(), {weight, tile, static_cast<int>(random.below(tile))});
    weight = random.between(weight + 1, weight * 9);
  }
  return order;
}

}  // namespace

TEST_CASE("boxes of random masks are classified soundly, also beyond the term cap") {
  int kept = 0, lost = 0, live = 0;
  for_seeds(500, [&](std::uint64_t seed) {
    Random random(seed);
    const mask::Pointwise m = random_mask(seed, static_cast<int>(random.between(0, 3)));
    const mask::PlanRequest r = random_request(random, 70);
    const Oracle oracle(m, r, 1);
    for (const std::size_t cap : {mask::kMaxTerms, std::size_t{2}}) {
      mask::Expressions e(m);
      mask::PositionValues bound{};
      bound[mask::at_head] = 1, bound[mask::at_batch] = 0;
      bound[mask::at_query_length] = r.query_length, bound[mask::at_key_length] = r.key_length;
      mask::BoxAnalysis analysis(e, e.body(bound, true), {r.query_length, r.key_length}, cap);
      for (int i = 0; i < 60; ++i) {
        mask::Box box;
        for (int side = 0; side < 2; ++side) {
          const std::int64_t length = side ? r.key_length : r.query_length;
          box.lo[side] = random.below(length), box.hi[side] = std::min(length - 1, box.lo[side] + random.below(20));
        }
        bool any = false, all = true;
        for (std::int64_t q = box.lo[0]; q <= box.hi[0]; ++q)
          for (std::int64_t k = box.lo[1]; k <= box.hi[1]; ++k) any |= oracle.live(q, k), all &= oracle.live(q, k);
        for (const mask::Verdict verdict : {analysis.classify(box), analysis.decide(box)}) {
          CHECK((verdict != mask::Verdict::empty || !any));
          CHECK((verdict != mask::Verdict::full || all));
        }
        if (cap == mask::kMaxTerms) {
          const mask::Verdict verdict = analysis.decide(box);
          live += any, kept += !any && verdict == mask::Verdict::partial,
              lost += all && verdict == mask::Verdict::partial;
        }
      }
    }
  });
  MESSAGE("boxes with a live pair: " << live << ", empty called partial: " << kept
                                     << ", full called partial: " << lost);
  CHECK(kept + lost <= live / 100);
}

TEST_CASE("tiles of random masks in random token orders are classified soundly, also beyond the term cap") {
  std::int64_t kept = 0, lost = 0, live = 0;
  for_seeds(400, [&](std::uint64_t seed) {
    Random random(seed);
    const mask::Pointwise m = random_mask(seed, static_cast<int>(random.between(0, 3)));
    const mask::PlanRequest r = random_request(random, 70);
    const mask::TokenOrder queries(random_order(random), r.query_length), keys(random_order(random), r.key_length);
    CAPTURE(mask::to_string(queries.order()));
    CAPTURE(mask::to_string(keys.order()));
    const TileMap want = brute_force(Oracle(m, r, 1), queries, keys);
    for (const std::size_t cap : {mask::kMaxTerms, std::size_t{2}}) {
      mask::Expressions e(m);
      mask::PositionValues bound{};
      bound[mask::at_head] = 1, bound[mask::at_batch] = 0;
      bound[mask::at_query_length] = r.query_length, bound[mask::at_key_length] = r.key_length;
      mask::BoxAnalysis analysis(e, e.body(bound, true), {queries, keys}, cap);
      mask::TileList list;
      mask::append_rows(analysis, queries, keys, list);
      const Difference d = compare_rows(listed(list, queries, keys), want);
      CHECK(d.unsound == 0);
      if (cap == mask::kMaxTerms) live += static_cast<std::int64_t>(list.tiles.size()), kept += d.kept, lost += d.lost;
    }
  });
  MESSAGE("tiles visited: " << live << ", of them empty: " << kept << ", full called partial: " << lost);
  CHECK(kept + lost <= live / 100);
}

TEST_CASE("spans of random masks in random token orders cover their tiles, at every length") {
  int closed = 0, seen = 0;
  for_seeds(400, [&](std::uint64_t seed) {
    Random random(seed);
    const mask::Pointwise m =
        seed % 3 ? random_closed_form(seed) : random_mask(seed, static_cast<int>(random.between(0, 2)));
    const OrderPair orders{random_order(random), random_order(random)};
    CAPTURE(mask::to_string(orders.queries));
    CAPTURE(mask::to_string(orders.keys));
    for (int i = 0; i < 3; ++i) {
      const Lengths n{random.between(1, 70), random.between(1, 70)};
      CAPTURE(n.queries);
      CAPTURE(n.keys);
      mask::PlanRequest r;
      r.query_length = n.queries, r.key_length = n.keys;
      const std::optional<SpanMaps> maps = spans_of(m, orders, n);
      ++seen;
      if (!maps) continue;
      ++closed;
      const TileMap want = brute_force(Oracle(m, r), {orders.queries, n.queries}, {orders.keys, n.keys});
      for (const TileMap* map : {&maps->plain, &maps->nested, &maps->guarded})
        CHECK(compare_rows(*map, want).unsound == 0);
    }
  });
  MESSAGE("closed forms: " << closed << " of " << seen);
  CHECK(2 * closed > seen);
}

TEST_CASE("plans of random masks visit each live tile once") {
  for_seeds(500, [&](std::uint64_t seed) {
    Random random(seed);
    const mask::Pointwise m = random_mask(seed, static_cast<int>(random.between(0, 3)));
    mask::PlanRequest r = random_request(random, 90);
    for (const bool spans : {false, true}) {
      r.allow_spans = spans;
      const mask::Plan plan = mask::make_plan(m, r);
      CAPTURE(plan.reason);
      mask::Counts counts;
      for (std::int64_t head = 0; head < r.heads; ++head) {
        const TileMap got = visited(plan, m, r, head);
        CHECK(compare(got, brute_force(m, r, head)).unsound == 0);
        for (const std::uint8_t tile : got.tiles)
          ++counts.total, counts.full += tile == kFull, counts.partial += tile == kPartial;
      }
      CHECK(plan.counts().total == counts.total);
      CHECK(plan.counts().full == counts.full);
      CHECK(plan.counts().partial == counts.partial);
      CHECK(plan.counts().visited == counts.full + counts.partial);
    }
  });
}

TEST_CASE("closed forms are sound at every length") {
  int spans = 0, lists = 0;
  for_seeds(500, [&](std::uint64_t seed) {
    Random random(seed);
    const mask::Pointwise m = random_closed_form(seed);
    mask::PlanRequest r = random_request(random, 120);
    const mask::Plan plan = mask::make_plan(m, r);
    CAPTURE(plan.reason);
    if (std::holds_alternative<mask::TileList>(plan.passes[0].sources[0].schedule)) return void(++lists);
    ++spans;
    for (int i = 0; i < 4; ++i) {
      r.query_length = random.between(0, 120), r.key_length = random.between(0, 120);
      CAPTURE(r.query_length);
      CAPTURE(r.key_length);
      for (std::int64_t head = 0; head < r.heads; ++head)
        CHECK(compare(visited(plan, m, r, head), brute_force(m, r, head)).unsound == 0);
    }
  });
  MESSAGE("closed forms: " << spans << " of " << spans + lists);
  CHECK(spans > lists);
}

TEST_CASE("tiled attention under random masks is attention") {
  for_seeds(500, [&](std::uint64_t seed) {
    Random random(seed);
    const mask::Pointwise m =
        seed % 2 ? random_closed_form(seed) : random_mask(seed, static_cast<int>(random.between(0, 2)));
    mask::PlanRequest r = random_request(random, 50);
    const mask::Plan plan = mask::make_plan(m, r);
    const ir::Kernel traced = passes::simplify(forward(m));
    const passes::Tiling tiling{.tiles = {}, .whole = {{ir::Axis::named("Depth"), 8}, {ir::Axis::named("Value"), 8}}};
    const ir::Kernel tiled = passes::tile_by_mask(traced, &plan, tiling);
    ir::check(tiled, "tile_by_mask");
    Inputs in(r.batch, r.heads, r.heads, r.query_length, r.key_length, 8, 8);
    const test::Problem p = attention_problem(in, m, r);
    CHECK(is_attention(run(traced, in, m, r, nullptr), p));
    CHECK(is_attention(run(passes::simplify(tiled), in, m, r, &plan), p));
  });
}
