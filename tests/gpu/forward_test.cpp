// Forward attention on the GPU: every pattern with every dtype, head dim, length, head grouping and schedule, pair by
// pair, against fp64 on sampled rows; and the COUNT probe on all rows.
#include <doctest/doctest.h>

#include <tuple>

#include "gpu/device_case.h"
#include "gpu/pairwise.h"
#include "gpu/patterns.h"

using namespace tessera;
using namespace tessera::test;

namespace {

Case shaped(DType dtype, int depth, std::int64_t queries, std::int64_t keys, std::int64_t heads,
            std::int64_t kv_heads) {
  Case c{.batch = 2,
         .heads = heads,
         .kv_heads = kv_heads,
         .queries = queries,
         .keys = keys,
         .depth = depth,
         .dtype = dtype};
  c.query_tile = c.key_tile = 0;  // the backend's choice
  return c;
}

std::string name_of(const PatternCase& pattern, const Case& c) {
  return std::string(pattern.name) + " " + std::string(name_of(c.dtype)) + " d" + std::to_string(c.depth) + " " +
         std::to_string(c.queries) + " x " + std::to_string(c.keys) + " heads " + std::to_string(c.heads) + "/" +
         std::to_string(c.kv_heads);
}

const std::vector<std::int64_t> kLengths = {1, 63, 64, 65, 1000, 4096};
constexpr std::int64_t kManyPrograms = 320;  // more than twice the multiprocessors of a Hopper GPU

}  // namespace

TEST_CASE("every pattern, dtype, head dim, length, grouping and schedule, pair by pair") {
  const std::vector<int> depths = {64, 96, 128, 256}, groups = {1, 4, 8};
  const std::vector<DType> dtypes = {DType::f16, DType::bf16};
  enum { pattern, dtype, depth, queries, keys, group, layout, stages, persistent, overlap, turns };
  const auto rows = pairwise(
      {pattern_cases().size(), dtypes.size(), depths.size(), kLengths.size(), 3, groups.size(), 3, 3, 2, 3, 2});
  for (const auto& row : rows) {
    const std::int64_t n = kLengths[row[queries]];
    const std::int64_t m = row[keys] == 0 ? n : row[keys] == 1 ? n + 37 : std::max<std::int64_t>(1, n / 2);
    const int g = groups[row[group]];
    Case c = shaped(dtypes[row[dtype]], depths[row[depth]], n, m, g == 1 ? 2 : g, g == 1 ? 2 : 1);
    if (n == 4096) c.batch = 1;
    if (n <= 65 && c.depth == 64) c.batch = kManyPrograms / c.heads;
    if (row[layout] == 1) c.layout.order = {0, 2, 1, 3};  // tokens outside heads
    if (row[layout] == 2) c.layout.row_padding = 8;
    const PatternCase& p = pattern_cases()[row[pattern]];
    p.apply(c);
    const backend::Schedule schedule{.stages = static_cast<int>(1 + row[stages]),
                                     .persistent = row[persistent] == 0,
                                     .overlap = row[overlap] > 0,
                                     .turns = row[turns] == 1,
                                     .skip_ones = row[overlap] == 2};
    check_sampled(c, name_of(p, c), n == 4096 ? 24 : 64, schedule);
  }
}

TEST_CASE("head dims that are no multiple of 64 (B51), and values of another width (B48)") {
  const PatternCase& causal_window = pattern_cases()[4];
  for (DType t : {DType::f16, DType::bf16})
    for (int d : {8, 24, 40, 72, 120, 192}) {
      Case c = shaped(t, d, 300, 300, 2, 1);
      c.layout.row_padding = 8;  // NaN behind every row
      causal_window.apply(c);
      check_sampled(c, name_of(causal_window, c));
    }
  for (auto [d, dv] : {std::pair{64, 128}, {192, 128}, {64, 32}, {128, 8}, {40, 256}}) {
    Case c = shaped(DType::bf16, d, 200, 333, 2, 1);
    c.value_depth = dv;
    causal_window.apply(c);
    check_sampled(c, name_of(causal_window, c) + " dv " + std::to_string(dv));
  }
}

TEST_CASE("COUNT probe: every pattern, every length, all rows") {
  for (const PatternCase& p : pattern_cases()) {
    if (std::string(p.name) == "soft cap and ALiBi") continue;  // its weights are not equal
    for (std::int64_t n : {1, 63, 64, 65, 200, 1000, 2048})
      for (std::int64_t m : {n, n + 129}) {
        const std::int64_t heads = n == 200 ? kManyPrograms / 4 : 1;  // two batches of two query tiles
        Case c = shaped(DType::bf16, 64, n, m, heads, std::max<std::int64_t>(1, heads / 2));
        p.apply(c);
        check_counts(c, name_of(p, c), run_on_device);
      }
  }
}

TEST_CASE("the identity for V shows every pattern bit for bit") {
  for (const PatternCase& p : pattern_cases()) {
    if (std::string(p.name) == "soft cap and ALiBi") continue;  // far weights round to 0
    for (const auto& [n, m] : {std::pair<std::int64_t, std::int64_t>{65, 65}, {200, 237}, {600, 600}}) {
      Case c = shaped(DType::bf16, 64, n, m, 2, 1);
      c.key_lengths.clear();
      p.apply(c);
      if (!c.key_lengths.empty()) continue;  // the probe writes every key
      check_identity(c, name_of(p, c), run_on_device);
    }
  }
}

TEST_CASE("every length around tile edges, no hang and nothing missed (B16, B12)") {
  for (int d : {64, 96, 128})
    for (std::int64_t n = 240; n <= 300; n += d == 64 ? 1 : 7) {
      Case c = shaped(DType::bf16, d, n, n, 1, 1);
      pattern_cases()[1].apply(c);
      check_counts(c, "causal " + std::to_string(n), run_on_device);
    }
  for (std::int64_t m = 120; m <= 260; m += 3) {
    Case c = shaped(DType::bf16, 64, 1, m, 1, 1);
    check_counts(c, "one query " + std::to_string(m), run_on_device);
  }
}

TEST_CASE("tiles of other sizes") {
  for (auto [bm, bn] : {std::pair{64, 64}, {128, 64}, {192, 128}, {64, 128}, {128, 80}, {192, 80}, {128, 16}}) {
    for (std::size_t i : {1u, 6u, 8u, 11u}) {
      const PatternCase& p = pattern_cases()[i];
      Case c = shaped(DType::bf16, 64, 700, 650, 2, 1);
      c.query_tile = bm;
      c.key_tile = bn;
      p.apply(c);
      check_counts(c, name_of(p, c) + " tiles " + std::to_string(bm) + " x " + std::to_string(bn), run_on_device);
    }
  }
}

// Small enough for compute-sanitizer, which runs this case and the programs under memcheck and racecheck.
TEST_CASE("representative kernels") {
  const std::vector<int> depths = {64, 128, 96, 40, 256};
  for (std::size_t i = 0; i < pattern_cases().size(); ++i)
    for (std::size_t second : {0u, 1u}) {
      Case c = shaped(second ? DType::f16 : DType::bf16, depths[(i + 2 * second) % depths.size()], second ? 130 : 200,
                      200, 2, 1);
      if (second) c.query_tile = 64, c.key_tile = 64;
      pattern_cases()[i].apply(c);
      check_sampled(c, name_of(pattern_cases()[i], c), 16);
    }

  // Every way of issuing products, with the rings shallow and deep.
  const PatternCase& full = pattern_cases()[0];
  for (const auto& [rows, schedule] : std::initializer_list<std::pair<int, backend::Schedule>>{
           {128, {.stages = 1, .persistent = false, .overlap = false, .turns = true}},
           {128, {.stages = 3, .overlap = false, .turns = false}},
           {192, {.stages = 2, .overlap = true, .turns = true, .skip_ones = false}},
           {192, {.stages = 1, .overlap = true, .turns = false, .skip_ones = true}}}) {
    // In f16 the running maximum is exact, so that factors of one and others occur.
    Case c = shaped(schedule.skip_ones.value_or(false) ? DType::f16 : DType::bf16, 64, 200, 200, 2, 1);
    c.query_tile = rows;
    c.key_tile = 64;
    full.apply(c);
    check_sampled(c, name_of(full, c), 16, schedule);
  }

  // Blocks that take more than one program, of two full key tiles and a partial one.
  for (const auto& [rows, schedule] : std::initializer_list<std::pair<int, backend::Schedule>>{
           {64, {}}, {128, {.overlap = true, .turns = true, .skip_ones = true}}}) {
    Case c = shaped(DType::bf16, 64, rows, 160, 30, 15);
    c.batch = 5;
    c.query_tile = rows;
    c.key_tile = 64;
    full.apply(c);
    REQUIRE(least_programs(c) > test_device().info().multiprocessors);
    check_sampled(c, name_of(full, c), 8, schedule);
  }
}
