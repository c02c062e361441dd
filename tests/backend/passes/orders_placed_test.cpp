// Attention in token orders, placed for a Hopper GPU: computes on the interpreter what its tiled kernel does, without
// race or deadlock, and assembles without spills.
#include <doctest/doctest.h>

#include <cmath>

#include <tessera/backend/compile.h>
#include <tessera/dsl/ir/interpret.h>
#include <tessera/library/call_arguments.h>
#include <tessera/library/plan_maker.h>

#include "backend/placed_runs.h"
#include "dsl/mask/order_plans.h"
#include "library/attention_case.h"
#include "library/order_cases.h"
#include "library/order_programs.h"
#include "support/sanitized.h"

namespace tessera::test {

namespace {

struct Placed {
  std::shared_ptr<const library::Planned> planned;
  std::vector<std::vector<ir::Argument>> arguments;  // of each kernel
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
  for (const library::PlannedKernel& kernel : p.planned->kernels)
    p.arguments.push_back(library::call_arguments(kernel, call, 1 / std::sqrt(static_cast<double>(c.depth)),
                                                  call.key_lengths, library::host_view));
  return p;
}

}  // namespace

TEST_CASE("every order computes the same placed as tiled") {
  std::size_t turn = 0, at = 0;
  const backend::Schedule schedules[] = {{}, {.persistent = false}, {.stages = 3}, {.overlap = false}};
  for (const OrderCase& order : order_cases())
    for (int depth : {64, 128, 40}) {
      if (left_out(at, 7)) continue;
      Case c{.batch = 2, .heads = 2, .kv_heads = 1, .depth = depth};
      order.apply(c);
      CAPTURE(order.name);
      CAPTURE(depth);
      const Tensors tensors(c);
      const Placed p = placed(c, tensors);
      for (std::size_t i = 0; i < p.arguments.size(); ++i) {
        const ir::Kernel& tiled = p.planned->kernels[i].tiled;
        CHECK(placed_difference(tiled, p.arguments[i], schedules[turn % std::size(schedules)]) <= 1e-2);
        ir::interpret(tiled, ir::bind(tiled, p.arguments[i]));  // for the next pass of a chain
      }
      ++turn;
    }
}

TEST_CASE("every order assembles without spills") {
  std::size_t at = 0;
  for (const OrderCase& order : order_cases())
    for (int depth : {64, 128}) {
      if (left_out_of_round(at, 2)) continue;
      Case c{.batch = 1, .heads = 2, .kv_heads = 1, .depth = depth};
      order.apply(c);
      CAPTURE(order.name);
      CAPTURE(depth);
      const Tensors tensors(c);
      const Placed p = placed(c, tensors);
      for (const library::PlannedKernel& kernel : p.planned->kernels) CHECK(assembles_clean(kernel.tiled));
    }
}

// Tiles in registers alone: loaded, stored and asked for their places by layout.
TEST_CASE("a program without products computes the same placed as tiled, in every pair of orders") {
  const Mask mask = [](Position q, Position k) { return abs(q - k) <= 50; };
  const auto allowed = [](std::int64_t q, std::int64_t k) { return std::abs(q - k) <= 50; };
  const std::vector<mask::Order> orders = {mask::Order::identity(64),
                                           {{{3, 32}, {1, 1}}},
                                           {{{16, 4}, {1, 8}}},
                                           {{{14, 7, 4}, {1, 7, 4}}},
                                           {{{40, 2}, {8, 4, 1}, {1, 8}}}};
  std::size_t at = 0;
  TestTensor x(DType::f32, {333}), w(DType::f32, {333}), y(DType::f32, {333});
  x.fill_normal(1), w.fill_normal(2);
  for (const mask::Order& queries : orders)
    for (const mask::Order& keys : orders) {
      if (left_out(at, 3)) continue;
      CAPTURE(to_string(queries));
      CAPTURE(to_string(keys));
      library::TracedProgram program = library::plannable(programs::weigh.trace(mask), {});
      program.plan_maker = programs::lists(queries, keys, allowed);
      library::PlanInput input;
      input.shapes = {.query_length = 333, .key_length = 333};
      const auto planned = library::make_planned(program, input);
      std::vector<ir::Argument> arguments{x.view(), w.view(), y.view()};
      for (std::size_t i = 3; i < planned->only().sources.size(); ++i)
        arguments.push_back(library::host_view(planned->only().sources[i].table));
      CHECK(placed_difference(planned->only().tiled, arguments) <= 1e-5);
      CHECK(assembles_clean(planned->only().tiled));
    }
}

}  // namespace tessera::test
