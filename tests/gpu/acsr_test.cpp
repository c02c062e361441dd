// Attention over ACSR in three programs on the GPU.
#include <random>

#include <doctest/doctest.h>

#include <tessera/library/patterns.h>

#include "gpu/device_case.h"
#include "library/acsr/acsr_case.h"
#include "library/acsr/random_rows.h"

using namespace tessera;
using namespace tessera::test;

namespace {

void check_mask(const Mask& mask, std::int64_t queries, std::int64_t keys, const AcsrProblem& problem) {
  check_acsr(OnDevice(), require_regular(acsr_of(mask, {.queries = queries, .keys = keys})), problem);
}

}  // namespace

TEST_CASE("regular masks") {
  const AcsrProblem wide{.depth = 64, .value_depth = 64, .height = 64, .key_tile = 64};
  for (auto [queries, keys] : {std::pair{256, 256}, {200, 333}, {65, 64}})
    for (const Mask& mask : {Mask(causal), window(100, 0), strided(4), dilated_window(20, 3), block_diagonal(96)})
      check_mask(mask, queries, keys, wide);
  check_mask(window(70, 30), 300, 300,
             {.batch = 2,
              .heads = 4,
              .kv_heads = 2,
              .depth = 128,
              .value_depth = 128,
              .height = 128,
              .key_tile = 64,
              .dtype = DType::f16});
}

TEST_CASE("random rows of any stride, without keys and with one") {
  std::mt19937_64 random(3);
  for (int i = 0; i < 3; ++i)
    check_acsr(OnDevice(), random_acsr(random, 40 + 17 * i, 200 - 33 * i),
               {.heads = 1, .depth = 64, .value_depth = 64, .height = 64, .key_tile = 64});
}
