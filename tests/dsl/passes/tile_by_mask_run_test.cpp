// Tiled attention, run: equal to fp64 attention for every pattern, and equal to the traced program.
#include <doctest/doctest.h>

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

test::Problem problem(const Inputs& in, const mask::Pointwise& mask, const mask::PlanRequest& r) {
  test::Problem p{&in.q, &in.k, &in.v, 1 / std::sqrt(double(in.q.shape()[3]))};
  p.key_lengths = r.key_lengths;
  p.allowed = [&](const test::Pair& x) {
    return mask::allows(mask, {x.q, x.k, x.head, x.batch, r.query_length, r.key_length}, r.scalars);
  };
  return p;
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
  const test::Problem p = problem(in, m.mask, r);
  const test::Result exact = test::attention_fp64(p);
  const test::Tolerance within = test::tolerance(p, exact);
  const Run got = run(passes::simplify(tiled), in, m.mask, r, &plan);
  CHECK(got.guards);
  CHECK(test::max_difference(got.o, exact.o) <= within.o);
  CHECK(test::max_difference(got.lse, exact.lse) <= within.lse);
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
