// Attention in token orders, placed for a Hopper GPU: computes on the interpreter what its tiled kernel does, without
// race or deadlock, and assembles without spills.
#include <doctest/doctest.h>

#include <cmath>

#include <tessera/backend/compile.h>
#include <tessera/library/call_arguments.h>
#include <tessera/library/plan_maker.h>

#include "backend/placed_runs.h"
#include "dsl/mask/order_plans.h"
#include "library/attention_case.h"
#include "library/order_cases.h"

namespace tessera::test {

namespace {

struct Placed {
  std::shared_ptr<const library::Planned> planned;
  std::vector<ir::Argument> arguments;
};

// The tensors must outlive it.
Placed placed(const Case& c, const Tensors& tensors) {
  const AttentionCall call = tensors.call(c);
  AttentionOptions options = options_of(c);
  options.value_dim = c.depth;
  const auto program = library::trace_attention(options, true, !c.key_lengths.empty());
  library::PlanInput input;
  input.shapes = {.batch = c.batch,
                  .heads = c.heads,
                  .kv_heads = c.kv_heads,
                  .query_length = c.queries,
                  .key_length = c.keys,
                  .lse = true,
                  .key_lengths = !c.key_lengths.empty()};
  input.key_lengths = c.key_lengths;
  input.tile = {64, 64};
  Placed p{library::make_planned(program, input), {}};
  p.arguments = library::call_arguments(*p.planned, call, 1 / std::sqrt(static_cast<double>(c.depth)), call.key_lengths,
                                        library::host_view);
  return p;
}

}  // namespace

TEST_CASE("every order computes the same placed as tiled") {
  std::size_t turn = 0;
  const backend::Schedule schedules[] = {{}, {.persistent = false}, {.stages = 3}, {.overlap = false}};
  for (const OrderCase& order : order_cases())
    for (int depth : {64, 128, 40}) {
      Case c{.batch = 2, .heads = 2, .kv_heads = 1, .depth = depth};
      order.apply(c);
      CAPTURE(order.name);
      CAPTURE(depth);
      const Tensors tensors(c);
      const Placed p = placed(c, tensors);
      CHECK(placed_difference(p.planned->tiled, p.arguments, schedules[turn++ % std::size(schedules)]) <= 1e-2);
    }
}

TEST_CASE("every order assembles without spills") {
  for (const OrderCase& order : order_cases())
    for (int depth : {64, 128}) {
      Case c{.batch = 1, .heads = 2, .kv_heads = 1, .depth = depth};
      order.apply(c);
      CAPTURE(order.name);
      CAPTURE(depth);
      const Tensors tensors(c);
      CHECK(assembles_clean(placed(c, tensors).planned->tiled));
    }
}

}  // namespace tessera::test
