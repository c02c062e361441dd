// Tiled attention, run: what fp64 attention is, for every pattern.
#include <doctest/doctest.h>

#include <algorithm>

#include <tessera/dsl/ir/verify.h>
#include <tessera/dsl/passes/simplify.h>
#include <tessera/dsl/passes/tile_by_mask.h>

#include "dsl/mask/predicates.h"
#include "dsl/passes/attention_program.h"

using namespace tessera;
using namespace tessera::testing;

namespace {

passes::Tiling whole(int depth, int value) {
  return {.tiles = {}, .whole = {{ir::Axis::named("Depth"), depth}, {ir::Axis::named("Value"), value}}};
}

void check(const NamedMask& m, mask::PlanRequest r, int depth, int value) {
  CAPTURE(m.name);
  CAPTURE(r.query_length);
  CAPTURE(r.key_length);
  CAPTURE(r.allow_spans);
  Inputs in(r.batch, r.heads, r.heads, r.query_length, r.key_length, depth, value);
  const mask::Plan plan = mask::make_plan(m.mask, r);
  const ir::Kernel traced = passes::simplify(forward(m.mask, !r.key_lengths.empty()));
  const ir::Kernel tiled = passes::tile_by_mask(traced, &plan, whole(depth, value));
  ir::check(tiled, "tile_by_mask");
  CHECK(is_attention(run(passes::simplify(tiled), in, m.mask, r, &plan), attention_problem(in, m.mask, r)));
}

mask::PlanRequest request(std::int64_t queries, std::int64_t keys, int query_tile, int key_tile) {
  mask::PlanRequest r;
  r.query_length = queries, r.key_length = keys, r.query_tile = query_tile, r.key_tile = key_tile;
  return r;
}

}  // namespace

TEST_CASE("every pattern, by spans and by list") {
  for (const auto& [queries, keys] : {std::pair{130, 257}, {257, 130}, {65, 64}, {1, 77}})
    for (const NamedMask& m : catalogue(queries, keys))
      for (const bool spans : {true, false}) {
        mask::PlanRequest r = request(queries, keys, 64, 32);
        r.allow_spans = spans;
        if (!spans || m.closed_form) check(m, r, 8, 8);
      }
}

TEST_CASE("heads, batch entries and key lengths, by spans and by list") {
  const mask::Pointwise by_head = predicate("p", [](Args& a) {
    return (a.k <= a.q + (a.key_length - a.query_length)) &
           (a.q - a.k <= where(a.head == a.batch, number(a.q, 20), number(a.q, 300)));
  });
  for (const std::vector<std::int64_t>& lengths : {std::vector<std::int64_t>{}, {0, 70}, {100, 33}})
    for (const bool spans : {true, false}) {
      mask::PlanRequest r = request(90, 100, 32, 16);
      r.heads = 3, r.batch = 2, r.key_lengths = lengths, r.allow_spans = spans;
      check({"by head", by_head, true}, r, 24, 40);
    }
}

TEST_CASE("the order of the grid does not change what attention is, traced and tiled") {
  const mask::Pointwise m = predicate("p", [](Args& a) {
    return (a.k <= a.q + (a.key_length - a.query_length)) &
           (a.q - a.k <= where(a.head == a.batch, number(a.q, 20), number(a.q, 300)));
  });
  std::vector<ir::Axis> grid{ir::Axis::named("Batch"), ir::Axis::named("Head"), ir::Axis::named("Query")};
  const auto by_name = [](ir::Axis a, ir::Axis b) { return a.name() < b.name(); };
  Inputs in(2, 3, 3, 90, 100, 8, 16);
  int orders = 0;
  do {
    std::string order;
    for (ir::Axis axis : grid) order += axis.name() + " ";
    CAPTURE(order);
    for (const bool spans : {true, false}) {
      mask::PlanRequest r = request(90, 100, 32, 16);
      r.heads = 3, r.batch = 2, r.key_lengths = {100, 33}, r.allow_spans = spans;
      const mask::Plan plan = mask::make_plan(m, r);
      ir::Kernel traced = forward(m, true);
      traced.grid = grid;
      REQUIRE(ir::query_axis(traced) == ir::Axis::named("Query"));
      const test::Problem problem = attention_problem(in, m, r);
      if (spans) CHECK(is_attention(run(traced, in, m, r, nullptr), problem));
      const ir::Kernel tiled = passes::tile_by_mask(passes::simplify(traced), &plan, whole(8, 16));
      ir::check(tiled, "tile_by_mask");
      CHECK(is_attention(run(passes::simplify(tiled), in, m, r, &plan), problem));
    }
    ++orders;
  } while (std::next_permutation(grid.begin(), grid.end(), by_name));
  CHECK(orders == 6);
}

// exp2(scores - log2 |key|^2): past the last key both sides of the difference are -inf.
TEST_CASE("a masked score less what is infinite past the end of the keys") {
  const mask::Pointwise all = mask::everything();
  const mask::PlanRequest r = request(40, 70, 32, 32);
  for (const std::string difference : {"sub %x0, %log_norm", "add %x0, %minus"}) {
    CAPTURE(difference);
    const ir::Kernel kernel =
        ir::parse(replaced(replaced(replaced(replaced(kForward, "%PARAMS%", ""), "%BOUND%", ""), "%OVER%", ""),
                           "    %x = select %allowed, %scaled, %masked : f32[Query, Key]\n",
                           std::string("    %x0 = select %allowed, %scaled, %masked : f32[Query, Key]\n"
                                       "    %square = mul %k, %k : f32[Key, Depth]\n"
                                       "    %norm = reduce_sum Depth %square : f32[Key]\n"
                                       "    %log_norm = log2 %norm : f32[Key]\n"
                                       "    %minus = neg %log_norm : f32[Key]\n"
                                       "    %x = ") +
                               difference + " : f32[Query, Key]\n"));
    Inputs in(1, 1, 1, 40, 70, 8, 8);
    const mask::Plan plan = mask::make_plan(all, r);
    const ir::Kernel tiled = passes::tile_by_mask(passes::simplify(kernel), &plan, whole(8, 8));
    ir::check(tiled, "tile_by_mask");
    const Run got = run(passes::simplify(tiled), in, all, r, &plan), want = run(kernel, in, all, r, nullptr);
    CHECK(test::max_difference(got.o, want.o) <= 2e-5);
    CHECK(test::max_difference(got.lse, want.lse) <= 2e-5);
  }
}

// Scores less the logarithm of what their column has in the tile: rows past the last query must not count, at whichever
// place of a list the last query tile is taken.
TEST_CASE("a sum over the queries of the last tile, which a list takes first") {
  const mask::Pointwise m = predicate("causal", [](Args& a) { return a.k <= a.q; });
  ir::Kernel kernel =
      ir::parse(replaced(replaced(replaced(replaced(kForward, "%PARAMS%", ""), "%BOUND%", ""), "%OVER%", ""),
                         "    %x = select %allowed, %scaled, %masked : f32[Query, Key]\n",
                         "    %x0 = select %allowed, %scaled, %masked : f32[Query, Key]\n"
                         "    %e = exp2 %scaled : f32[Query, Key]\n"
                         "    %column = reduce_sum Query %e : f32[Key]\n"
                         "    %log_column = log2 %column : f32[Key]\n"
                         "    %x = sub %x0, %log_column : f32[Query, Key]\n"));
  kernel.functions = {m.function};
  for (const bool spans : {true, false}) {
    mask::PlanRequest r = request(100, 100, 64, 64);  // the interpreter walks the traced kernel in tiles of 64
    r.allow_spans = spans;
    Inputs in(1, 2, 2, 100, 100, 8, 8);
    r.heads = 2;
    const mask::Plan plan = mask::make_plan(m, r);
    if (!spans) REQUIRE(std::get<mask::TileList>(plan.passes[0].sources[0].schedule).row(0).query_tile == 1);
    const ir::Kernel tiled = passes::tile_by_mask(passes::simplify(kernel), &plan, whole(8, 8));
    ir::check(tiled, "tile_by_mask");
    const Run got = run(passes::simplify(tiled), in, m, r, &plan), want = run(kernel, in, m, r, nullptr);
    CHECK(test::max_difference(got.o, want.o) <= 2e-5);
    CHECK(test::max_difference(got.lse, want.lse) <= 2e-5);
  }
}

TEST_CASE("lengths of no tokens and of one") {
  for (const auto& [queries, keys] : {std::pair{1, 0}, {5, 0}, {1, 1}, {0, 3}})
    for (const NamedMask& m : catalogue(queries, keys)) check(m, request(queries, keys, 32, 16), 8, 8);
}

TEST_CASE("B42 a table exactly as long as the axis, read before its start") {
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 100; ++i) ids.push_back(i / 9);
  const mask::Pointwise lagged = predicate("p", [&](Args& a) {
    const Table t = table(ids);
    return (a.q > 0) & (a.read("doc", t, {a.q - 1}) == a.read("doc", t, {a.k}));
  });
  check({"lagged", lagged, false}, request(100, 100, 64, 32), 8, 16);
}

TEST_CASE("keys past their bound may hold NaN") {
  const mask::Pointwise all = mask::everything();
  mask::PlanRequest r = request(40, 100, 32, 16);
  r.batch = 3, r.key_lengths = {100, 0, 37};
  Inputs in(3, 1, 1, 40, 100, 8, 8);
  for (std::int64_t b = 0; b < 3; ++b)
    for (std::int64_t k = r.key_lengths[static_cast<std::size_t>(b)]; k < 100; ++k)
      for (std::int64_t d = 0; d < 8; ++d) in.k.set({b, 0, k, d}, NAN), in.v.set({b, 0, k, d}, NAN);
  const mask::Plan plan = mask::make_plan(all, r);
  const ir::Kernel tiled =
      passes::simplify(passes::tile_by_mask(passes::simplify(forward(all, true)), &plan, whole(8, 8)));
  CHECK(is_attention(run(tiled, in, all, r, &plan), attention_problem(in, all, r)));
}
