// Faults of other libraries that no other test would catch: tests/known_faults.md lists them all.
#include <cmath>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include <tessera/library/merge.h>

#include "library/attention_case.h"

using namespace tessera;
using namespace tessera::test;

TEST_CASE("one key for many queries: the last row is V, the others are empty (B09)") {
  for (std::int64_t queries : {76, 34, 146}) {
    Case c{.queries = queries, .keys = 1, .depth = 32, .dtype = DType::f16, .mask = causal, .input_scale = 3};
    c.allowed = [=](const Pair& p) { return p.q == queries - 1; };
    check_case(c, std::to_string(queries) + " x 1");
  }
}

TEST_CASE("a score of the distance under a causal mask, just before and after many whole tiles (B10)") {
  for (std::int64_t n : {511, 512, 513}) {
    Case c{.queries = n, .keys = n, .depth = 16, .mask = causal};
    c.scores = {[](ScoreValue s, Position q, Position k) { return s + cast<f32>(q - k); }};
    c.allowed = [](const Pair& p) { return p.k <= p.q; };
    c.score = [](const Pair& p, double s) { return s + static_cast<double>(p.q - p.k); };
    check_case(c, std::to_string(n));
  }
}

TEST_CASE("random blocks, fewer keys than queries, the last row not empty (B18)") {
  constexpr std::int64_t kBlock = 64, kQueries = 1024, kKeys = 768, kColumns = kKeys / kBlock;
  for (unsigned seed : {1u, 2u}) {
    std::mt19937 random(seed);
    std::vector<std::int32_t> blocks(kQueries / kBlock * kColumns);
    for (std::int32_t& block : blocks) block = random() % 5 == 0;
    blocks.back() = 1;
    Case c{.queries = kQueries, .keys = kKeys, .depth = 8};
    c.mask = [table = Table<i32, 2>(blocks, kQueries / kBlock, kColumns)](Position q, Position k) {
      return table(q / 64, k / 64) == 1;
    };
    c.allowed = [&](const Pair& p) { return blocks[p.q / kBlock * kColumns + p.k / kBlock] == 1; };
    for (auto [query_tile, key_tile] : {std::pair{64, 64}, {128, 128}, {64, 32}}) {
      c.query_tile = query_tile, c.key_tile = key_tile;
      check_counts(c, std::to_string(query_tile) + " x " + std::to_string(key_tile));
    }
  }
}

TEST_CASE("one query over the first rows of a long cache (B20)") {
  Case c{.batch = 2, .queries = 1, .keys = 2048, .depth = 8, .key_lengths = {101, 1}};
  check_counts(c, "101 of 2048");
  check_case(c, "101 of 2048");
}

TEST_CASE("tiles known to be full, and the same tiles left to the predicate, agree (B26)") {
  const std::vector<std::int32_t> ids = document_ids({130, 7, 163});
  TestTensor table(DType::i32, {300});
  for (std::int64_t i = 0; i < 300; ++i) table.set({i}, ids[i]);
  Case captured{.queries = 300, .keys = 300, .depth = 16, .mask = documents(ids)};
  captured.allowed = [&](const Pair& p) { return ids[p.q] == ids[p.k]; };
  captured.query_tile = captured.key_tile = 64;
  Case given = captured;
  given.mask = documents(Table<i32>("doc"));
  Tensors a(captured), b(given);
  Attention full_tiles(options_of(captured)), partial_tiles(options_of(given));
  full_tiles(a.call(captured));
  AttentionCall call = b.call(given);
  call.tables = {{"doc", table.view()}};
  partial_tiles(call);
  CHECK(full_tiles.explain_json().find("\"full\": 0,") == std::string::npos);
  CHECK(partial_tiles.explain_json().find("\"full\": 0,") != std::string::npos);
  const Result exact = attention_fp64(a.problem(captured));
  const Tolerance allowed = tolerance(a.problem(captured), exact);
  CHECK(max_difference(a.o.values(), exact.o) <= allowed.o);
  CHECK(max_difference(b.o.values(), exact.o) <= allowed.o);
  CHECK(max_difference(a.lse.values(), b.lse.values()) <= allowed.lse);
}

TEST_CASE("a single query under every grouping of heads (B46)") {
  for (auto [heads, kv_heads] : {std::pair<std::int64_t, std::int64_t>{12, 2}, {7, 1}, {28, 4}, {16, 1}, {64, 8}}) {
    Case c{.heads = heads, .kv_heads = kv_heads, .queries = 1, .keys = 70, .depth = 16};
    check_case(c, std::to_string(heads) + " over " + std::to_string(kv_heads));
  }
}

TEST_CASE("tiles chosen for wide heads fit in shared memory; tiles asked for may not (B50)") {
  for (int depth : {160, 192, 224, 256}) {
    CAPTURE(depth);
    Attention attend({.mask = causal, .head_dim = depth, .target = "sm_90a"});
    attend.prepare({.query_length = 1000, .key_length = 1000});
    CHECK_NOTHROW(attend.ir(ir::Stage::placed));
  }
  Attention attend({.head_dim = 256, .value_dim = 136, .query_tile = 64, .key_tile = 256, .target = "sm_90a"});
  CHECK_THROWS_WITH_AS(
      [&] {
        attend.prepare({.query_length = 1000, .key_length = 1000});
        attend.ir(ir::Stage::placed);
      }(),
      doctest::Contains("bytes of shared memory, sm_90a has 232448"), UserError);
}

TEST_CASE("each tensor has strides of its own (B55)") {
  Case c{.batch = 2, .heads = 4, .kv_heads = 2, .queries = 70, .keys = 90, .depth = 24, .mask = causal};
  Case padded = c;
  padded.layout = {.row_padding = 8, .guard_rows = 3, .order = {2, 0, 1, 3}};
  Tensors packed(c);
  Attention attend(options_of(c));
  attend(packed.call(c));
  TestTensor lse(DType::f32, {c.batch, c.heads, c.queries}, {.row_padding = 4, .guard_rows = 2, .order = {1, 0, 2}});
  for (View AttentionCall::* one :
       {&AttentionCall::q, &AttentionCall::k, &AttentionCall::v, &AttentionCall::o, &AttentionCall::lse}) {
    Tensors t(c), other(padded);
    lse.poison();
    AttentionCall call = t.call(c);
    call.*one = one == &AttentionCall::lse ? lse.view() : other.call(padded).*one;
    attend(call);
    const TestTensor& o = one == &AttentionCall::o ? other.o : t.o;
    CHECK(max_difference(o.values(), packed.o.values()) == 0);
    CHECK(max_difference((one == &AttentionCall::lse ? lse : t.lse).values(), packed.lse.values()) == 0);
    CHECK(o.guards_intact());
  }
}

TEST_CASE("a sink counts once, however many parts the keys are split into (B62)") {
  constexpr std::int64_t kKeys = 240;
  for (std::int64_t parts = 1; parts <= 8; ++parts)
    for (double sink : {-std::numeric_limits<double>::infinity(), 0.0, 100.0}) {
      CAPTURE(parts);
      CAPTURE(sink);
      std::vector<TestTensor> memory;
      memory.reserve(static_cast<std::size_t>(2 * parts + 4));
      std::vector<Partial> partials;
      const auto add = [&]() -> Partial& {
        memory.emplace_back(DType::f32, std::vector<std::int64_t>{1, 1, 1, 8});
        memory.emplace_back(DType::f32, std::vector<std::int64_t>{1, 1, 1});
        return partials.emplace_back(Partial{memory[memory.size() - 2].view(), memory.back().view()});
      };
      for (std::int64_t p = 0; p < parts; ++p) {  // equal weights, values of 1
        add();
        memory[memory.size() - 2].fill(1);
        memory.back().fill(std::log(static_cast<double>((p + 1) * kKeys / parts - p * kKeys / parts)));
      }
      add();
      memory[memory.size() - 2].fill(0);
      memory.back().fill(sink);
      const Partial out = add();
      partials.pop_back();
      merge(partials, out);
      const double total = kKeys + std::exp(sink);
      CHECK(memory[memory.size() - 2].at({0, 0, 0, 3}) == doctest::Approx(kKeys / total).epsilon(1e-5));
      CHECK(memory.back().at({0, 0, 0}) == doctest::Approx(std::log(total)).epsilon(1e-6));
    }
}
