// Programs with a mask that are not attention, run in token orders. weigh: tiles in registers only, no products.
#pragma once

#include <cmath>

#include <doctest/doctest.h>

#include <tessera/dsl/lang/lang.h>
#include <tessera/library/plan_maker.h>
#include <tessera/library/program.h>

#include "dsl/mask/order_plans.h"
#include "support/tensor.h"

namespace tessera::test::programs {

inline constexpr const char* kFile = __FILE__;  // where refusals point

struct WeighState {
  TESSERA_STRUCT(WeighState, (Tile<f32, Query>, sum));
};
template <class Stage>
struct WeighArgs {
  TESSERA_STRUCT(WeighArgs, (In<Stage, f32, Query>, x), (In<Stage, f32, Key>, w), (Out<Stage, f32, Query>, y));
};
// y[q] = x[q] * sum of w[k] over the keys that q sees.
inline const auto weigh = kernel("weigh", grid<Query>, [](WeighArgs<traced> a, Mask mask) {
  auto end = over<Key>(mask, WeighState{0}, [&](KeyTile t, WeighState s) {
    Tile<f32, Query, Key> seen = where(t.allowed, load(a.w, t), 0);
    return WeighState{s.sum + reduce_sum<Key>(seen)};
  });
  store(a.y, end.sum * load(a.x));
});

struct PoolState {
  TESSERA_STRUCT(PoolState, (Tile<f32, Query, Value>, sum));
};
template <class Stage>
struct PoolArgs {
  TESSERA_STRUCT(PoolArgs, (In<Stage, bf16, Query, Depth>, q), (In<Stage, bf16, Depth, Key>, k),
                 (In<Stage, bf16, Key, Value>, v), (Out<Stage, f32, Query, Value>, o));
};
// Keys along the last axis of k.
inline const auto pool = kernel("pool", grid<Query>, [](PoolArgs<traced> a, Mask mask) {
  Tile<bf16, Query, Depth> q = load(a.q);
  auto end = over<Key>(mask, PoolState{0}, [&](KeyTile t, PoolState s) {
    Tile<f32, Query, Key> p = where(t.allowed, dot(q, load(a.k, t)), 0);
    return PoolState{s.sum + dot(cast<bf16>(p), load(a.v, t))};
  });
  store(a.o, end.sum);
});

// A program's options for one plan of lists.
inline std::shared_ptr<const library::PlanMaker> lists(const mask::Order& queries, const mask::Order& keys,
                                                       testing::AllowedPair allowed) {
  return std::make_shared<const library::PlanMaker>(
      library::PlanMaker{[=](const mask::Pointwise&, const mask::PlanRequest& r) {
        const testing::Lengths lengths{r.query_length, r.key_length};
        return testing::plan_of(queries, {testing::listed(queries, keys, lengths, allowed)});
      }});
}

// weigh, in all combinations of a few orders, against its definition. `on` as in support/program_cases.h.
template <class On>
void check_weigh(On& on) {
  const std::vector<mask::Order> orders = {mask::Order::identity(64),
                                           {{{3, 32}, {1, 1}}},
                                           {{{16, 4}, {1, 8}}},
                                           {{{14, 7, 4}, {1, 7, 4}}},
                                           {{{40, 2}, {8, 4, 1}, {1, 8}}}};
  const Mask mask = [](Position q, Position k) { return abs(q / 16 - k / 16) <= 3 && (q - k) % 3 == 0; };
  const auto allowed = [](std::int64_t q, std::int64_t k) {
    return std::abs(q / 16 - k / 16) <= 3 && (q - k) % 3 == 0;
  };
  constexpr std::int64_t kTokens = 333;
  for (const mask::Order& queries : orders)
    for (const mask::Order& keys : orders) {
      CAPTURE(to_string(queries));
      CAPTURE(to_string(keys));
      Program program(weigh.trace(mask), {.plan_maker = lists(queries, keys, allowed)});
      TestTensor x(DType::f32, {kTokens}), w(DType::f32, {kTokens}), y(DType::f32, {kTokens});
      x.fill_normal(1), w.fill_normal(2), y.poison();
      program(WeighArgs<bound>{.x = on(x), .w = on(w), .y = on(y)});
      on.finish();
      int wrong = 0;
      for (std::int64_t q = 0; q < kTokens; ++q) {
        double sum = 0;
        for (std::int64_t k = 0; k < kTokens; ++k) sum += allowed(q, k) ? double(w.at({k})) : 0.0;
        wrong += !(std::abs(y.at({q}) - x.at({q}) * sum) <= 1e-4);
      }
      CHECK(wrong == 0);
      CHECK(y.guards_intact());
    }
}

}  // namespace tessera::test::programs
