#include <doctest/doctest.h>

#include <tessera/dsl/ir/verify.h>
#include <tessera/dsl/passes/simplify.h>
#include <tessera/dsl/passes/tile_by_mask.h>

#include "dsl/mask/predicates.h"
#include "dsl/passes/attention_program.h"

using namespace tessera;
using namespace tessera::testing;

TEST_CASE("print") {
  const mask::Pointwise window = predicate("window", [](Args& a) { return (a.k <= a.q) & (a.q - a.k <= 1024); });
  mask::PlanRequest r; r.query_length = 4096; r.key_length = 4096;
  const mask::Plan plan = mask::make_plan(window, r);
  passes::Tiling tiling{.tiles = {}, .whole = {{ir::Axis::named("Depth"), 64}, {ir::Axis::named("Value"), 64}}};
  const ir::Kernel tiled = passes::tile_by_mask(passes::simplify(forward(window)), &plan, tiling);
  ir::check(tiled, "tile_by_mask");
  MESSAGE(ir::print(passes::simplify(tiled)));
}
