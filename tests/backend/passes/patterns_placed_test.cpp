// Every library pattern, placed for a Hopper GPU, computes on the interpreter what its tiled kernel does; and the
// interpreter finds no race and no deadlock in it.
#include <doctest/doctest.h>

#include <cmath>

#include <tessera/library/call_arguments.h>

#include "backend/placed_runs.h"
#include "gpu/patterns.h"
#include "support/sanitized.h"

namespace tessera::test {

namespace {

struct Sizes {
  int dim;
  backend::TileShape tile;
  std::int64_t queries, keys;
};

library::PlanInput plan_input(const Case& c, const backend::TileShape& tile) {
  library::PlanInput input;
  input.shapes = {.batch = c.batch,
                  .heads = c.heads,
                  .kv_heads = c.kv_heads,
                  .query_length = c.queries,
                  .key_length = c.keys,
                  .lse = true,
                  .key_lengths = !c.key_lengths.empty()};
  input.key_lengths = c.key_lengths;
  input.tile = tile;
  return input;
}

double difference(const PatternCase& pattern, const Sizes& sizes, DType dtype, const backend::Schedule& schedule = {}) {
  Case c{.batch = 2, .heads = 2, .kv_heads = 1, .queries = sizes.queries, .keys = sizes.keys, .depth = sizes.dim};
  c.dtype = dtype;
  pattern.apply(c);
  AttentionOptions options = options_of(c);
  options.value_dim = c.depth;
  const Tensors tensors(c);
  AttentionCall call = tensors.call(c);
  const auto program = library::trace_attention(options, true, !c.key_lengths.empty());
  const auto planned = library::make_planned(program, plan_input(c, sizes.tile));
  const auto arguments = library::call_arguments(planned->only(), call, 1 / std::sqrt(static_cast<double>(c.depth)),
                                                 call.key_lengths, library::host_view);
  return placed_difference(planned->only().tiled, arguments, schedule);
}

}  // namespace

TEST_CASE("every pattern computes the same placed as tiled") {
  const std::vector<int> dims{8, 40, 64, 96, 128};
  const std::vector<backend::TileShape> tiles{{64, 64}, {128, 64}, {128, 80}, {192, 64}};
  const std::vector<std::pair<int, int>> lengths{{1, 1}, {65, 63}, {130, 200}, {200, 130}, {7, 300}, {257, 257}};
  // Every pattern with every head dim and every tile; the lengths and dtypes in turn.
  std::size_t turn = 0;
  for (const PatternCase& pattern : pattern_cases())
    for (int dim : dims)
      for (const backend::TileShape& tile : tiles) {
        if (kSanitized && turn % 23 != 0) {  // of each some with each
          ++turn;
          continue;
        }
        const auto [queries, keys] = lengths[turn % lengths.size()];
        const Sizes sizes{dim, tile, queries, keys};
        const DType dtype = turn++ % 2 ? DType::f16 : DType::bf16;
        CAPTURE(std::string(pattern.name));
        CAPTURE(sizes.dim);
        CAPTURE(sizes.tile.query);
        CAPTURE(sizes.tile.key);
        CAPTURE(sizes.queries);
        CAPTURE(sizes.keys);
        // The products sum in the same order; only the accumulation of the second product into `acc` may round
        // elsewhere.
        CHECK(difference(pattern, sizes, dtype) <= 1e-2);
      }
}

TEST_CASE("every schedule computes the same placed as tiled") {
  std::vector<backend::Schedule> schedules;
  for (int stages : {1, 2, 3})
    for (bool persistent : {false, true})
      for (bool overlap : {false, true})
        for (bool turns : {false, true})
          for (bool skip_ones : {false, true}) {
            if (skip_ones && !overlap) continue;
            schedules.push_back({.stages = stages,
                                 .persistent = persistent,
                                 .overlap = overlap,
                                 .turns = turns,
                                 .skip_ones = skip_ones});
          }
  const std::vector<Sizes> sizes{{64, {192, 64}, 257, 300}, {128, {128, 64}, 130, 400}, {40, {64, 80}, 65, 170}};
  std::size_t turn = 0;
  const auto& patterns = pattern_cases();
  for (const backend::Schedule& schedule : schedules)
    for (const Sizes& size : sizes) {
      if (kSanitized && turn % sizes.size() != turn / sizes.size() % sizes.size()) {  // one size each, in turn
        ++turn;
        continue;
      }
      const PatternCase& pattern = patterns[turn++ % patterns.size()];
      CAPTURE(to_string(schedule));
      CAPTURE(std::string(pattern.name));
      CAPTURE(size.tile.query);
      CHECK(difference(pattern, size, turn % 2 ? DType::f16 : DType::bf16, schedule) <= 1e-2);
    }
}

}  // namespace tessera::test
