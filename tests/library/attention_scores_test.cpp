// Score functions: order, definitions, and what happens outside the tile.
#include <cmath>

#include <doctest/doctest.h>

#include "library/attention_case.h"

using namespace tessera;
using namespace tessera::test;

TEST_CASE("the soft cap comes before the mask: masked keys keep weight 0 (B43)") {
  Case c{.queries = 130,
         .keys = 130,
         .depth = 64,
         .mask = causal,
         .scores = {softcap(30)},
         .scale = 3.0,
         .input_scale = 2};
  c.allowed = [](const Pair& p) { return p.k <= p.q; };
  c.score = [](const Pair&, double s) { return 30 * std::tanh(s / 30); };
  check_case(c, "softcap");
}

TEST_CASE("ALiBi: sign, distance and head, on both sides and aligned (B24)") {
  Case c{.heads = 8, .kv_heads = 4, .queries = 60, .keys = 90, .depth = 16, .scores = {alibi(8)}};
  c.score = [](const Pair& p, double s) { return s - std::exp2(-(p.head + 1.0)) * std::abs(p.q + 30.0 - p.k); };
  check_case(c, "alibi");
  c.mask = causal;
  c.allowed = [](const Pair& p) { return p.k <= p.q + 30; };
  check_case(c, "alibi, causal");
}

TEST_CASE("scores apply from left to right (B43, B44)") {
  Score twice = [](ScoreValue s, Position, Position) { return s * 2; };
  Score plus = [](ScoreValue s, Position q, Position k) { return s + cast<f32>(q - k); };
  Case c{.queries = 40, .keys = 40, .depth = 16, .scores = {twice, plus}};
  c.score = [](const Pair& p, double s) { return 2 * s + static_cast<double>(p.q - p.k); };
  check_case(c, "double, then add");
  c.scores = {plus, twice};
  c.score = [](const Pair& p, double s) { return 2 * (s + static_cast<double>(p.q - p.k)); };
  check_case(c, "add, then double");
}

TEST_CASE("scores at tails do not reach outside (B10)") {
  for (std::int64_t n : {63, 64, 65}) {
    Case c{.queries = n, .keys = n, .depth = 16, .scores = {Score([](ScoreValue s, Position q, Position k) {
                                                   return s + cast<f32>(q - k);
                                                 })}};
    c.score = [](const Pair& p, double s) { return s + static_cast<double>(p.q - p.k); };
    check_case(c, "full " + std::to_string(n));
    c.mask = causal;
    c.allowed = [](const Pair& p) { return p.k <= p.q; };
    check_case(c, "causal " + std::to_string(n));
  }
}

TEST_CASE("a dense bias is added to the scaled scores, shared by batch and head where it has one of them (B44)") {
  for (auto [batch, heads] : {std::pair<std::int64_t, std::int64_t>{2, 4}, {1, 4}, {2, 1}, {1, 1}}) {
    Case c{.batch = 2, .heads = 4, .kv_heads = 2, .queries = 43, .keys = 51, .depth = 16, .scores = {dense_bias()}};
    TestTensor bias(DType::f32, {batch, heads, 43, 51});
    bias.fill_normal(7);
    c.score = [&, batch = batch, heads = heads](const Pair& p, double s) {
      return s + bias.at({p.batch % batch, p.head % heads, p.q, p.k});
    };
    Tensors t(c);
    AttentionCall call = t.call(c);
    call.tables = {{"bias", bias.view()}};
    Attention(options_of(c))(call);
    Result exact = attention_fp64(t.problem(c));
    Tolerance allowed = tolerance(t.problem(c), exact);
    CHECK(max_difference(t.o.values(), exact.o) <= allowed.o);
    CHECK(max_difference(t.lse.values(), exact.lse) <= allowed.lse);
    CHECK(bias.guards_intact());
  }
}

TEST_CASE("a table given at the call masks like one that was captured") {
  std::vector<std::int32_t> ids = document_ids({20, 60, 20});
  TestTensor table(DType::i32, {100});
  for (std::int64_t i = 0; i < 100; ++i) table.set({i}, ids[static_cast<std::size_t>(i)]);
  Case c{.queries = 100, .keys = 100, .depth = 16, .mask = documents(Table<i32>("doc"))};
  c.allowed = [&](const Pair& p) { return ids[p.q] == ids[p.k]; };
  Tensors t(c);
  AttentionCall call = t.call(c);
  call.tables = {{"doc", table.view()}};
  Attention(options_of(c))(call);
  Result exact = attention_fp64(t.problem(c));
  CHECK(max_difference(t.o.values(), exact.o) <= tolerance(t.problem(c), exact).o);
}

TEST_CASE("a shifted look-up stays inside its table (B42)") {
  std::vector<std::int32_t> ids = document_ids({50, 51});
  Table<i32> doc(ids);
  Case c{.queries = 101, .keys = 101, .depth = 16};
  c.mask = [doc](Position q, Position k) { return doc[q - 1] == doc[k + 1]; };
  c.allowed = [ids](const Pair& p) {
    return ids[std::max<std::int64_t>(p.q - 1, 0)] == ids[std::min<std::int64_t>(p.k + 1, 100)];
  };
  check_case(c, "nearest ends");
}

TEST_CASE("the opening example of scores.h, as it is written there") {
  Score near = [](ScoreValue s, Position q, Position k) { return s - 0.1f * cast<f32>(abs(q - k)); };
  Case c{.queries = 43, .keys = 51, .depth = 16};
  c.scores = {near};
  c.score = [](const Pair& p, double s) { return s - 0.1f * static_cast<double>(std::abs(p.q - p.k)); };
  check_case(c, "near");
}
