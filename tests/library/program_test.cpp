// Block-level programs without attention in them, and with a mask of their own, through the same door.
#include <tessera/library/program.h>

#include <doctest/doctest.h>

#include <tessera/library/forward.h>
#include <tessera/library/patterns.h>

#include "library/attention_case.h"
#include "support/program_cases.h"

using namespace tessera;
using namespace tessera::test;

TEST_CASE("a row reduction, at lengths that no tile divides") {
  for (std::int64_t rows : {1, 15, 16, 100}) programs::check_row_norm(OnHost(), rows);
}

TEST_CASE("a call of no rows computes nothing") {
  float memory[24] = {};
  const View none = View::contiguous(memory, f32, {0, 24});
  Program softmax(programs::row_softmax.trace(), {.tiles = {{"Row", 16}}, .whole = {{"Column", 24}}});
  softmax(programs::SoftmaxArgs<bound>{.x = none, .y = none, .sum = View::contiguous(memory, f32, {0})});
  Program masked(forward.trace<bf16>(causal, Scores{}, ForwardOptions{}), {.whole = {{"Depth", 16}, {"Value", 16}}});
  const View q = View::contiguous(memory, bf16, {1, 2, 0, 16}), k = View::contiguous(memory, bf16, {1, 2, 0, 16});
  masked(ForwardArgs<bound, bf16>{.q = q, .k = k, .v = k, .o = q, .lse = {}, .scale = 1, .key_lengths = {}});
  for (float x : memory) CHECK(x == 0);
}

TEST_CASE("elementwise, a row softmax, column sums") {
  for (std::int64_t rows : {1, 33}) programs::check_gated(OnHost(), rows);
  for (std::int64_t width : {8, 100}) programs::check_row_softmax(OnHost(), width);
  programs::check_column_sums(OnHost());
}

TEST_CASE("a matrix product over ragged sizes, in tiles that a GPU takes and in others") {
  programs::check_product(OnHost(), 70, 50, 88, {{"Row", 64}, {"Column", 32}, {"Inner", 64}});
  programs::check_product(OnHost(), 70, 50, 88, {{"Row", 100}, {"Column", 7}, {"Inner", 24}});
}

TEST_CASE("the forward program, called by hand, is what Attention runs") {
  Case c{.heads = 2, .kv_heads = 2, .queries = 100, .keys = 130, .depth = 16, .mask = window(20, 3)};
  Tensors by_hand(c), by_attention(c);
  Attention(options_of(c))(by_attention.call(c));
  Program program(forward.trace<bf16>(c.mask, Scores{}, ForwardOptions{.lse = true}),
                  {.tiles = {{"Query", 64}, {"Key", 64}}, .whole = {{"Depth", 16}, {"Value", 16}}});
  program(ForwardArgs<bound, bf16>{.q = by_hand.q.view(),
                                   .k = by_hand.k.view(),
                                   .v = by_hand.v.view(),
                                   .o = by_hand.o.view(),
                                   .lse = by_hand.lse.view(),
                                   .scale = 0.25,
                                   .key_lengths = {}});
  CHECK(max_difference(by_hand.o.values(), by_attention.o.values()) == 0);
  CHECK(max_difference(by_hand.lse.values(), by_attention.lse.values()) == 0);
  CHECK(program.ir(ir::Stage::tiled).find("kernel forward tiled") == 0);
}

TEST_CASE("explain: tiles, defaults, what the mask skipped, and whether the target runs it") {
  Case c{.heads = 1, .kv_heads = 1, .queries = 512, .keys = 512, .depth = 64, .mask = causal};
  Tensors t(c);
  Program program(forward.trace<bf16>(c.mask, Scores{}, ForwardOptions{}),
                  {.tiles = {{"Query", 64}}, .whole = {{"Depth", 64}, {"Value", 64}}, .target = "sm_90a"});
  CHECK(program.explain() ==
        "program    forward\n"
        "tiles      Query 64, Key 128 (default); whole Depth 64, Value 64\n"
        "target     sm_90a runs it\n");
  program(ForwardArgs<bound, bf16>{.q = t.q.view(),
                                   .k = t.k.view(),
                                   .v = t.v.view(),
                                   .o = t.o.view(),
                                   .lse = {},
                                   .scale = 0.125,
                                   .key_lengths = {}});
  CHECK(program.explain() ==
        "program    forward\n"
        "tiles      Query 64, Key 128 (default); whole Depth 64, Value 64\n"
        "mask       20 of 32 tiles visited (12 full, 8 partial)\n"
        "target     sm_90a runs it\n");
}

namespace {

// How many keys a query's visited tiles have, and how many of them it may see.
template <class Stage>
struct CountArgs {
  TESSERA_STRUCT(CountArgs, (In<Stage, f32, Key>, ones), (Out<Stage, f32, Query>, visited),
                 (Out<Stage, f32, Query>, allowed));
};

template <class Stage>
struct MarkArgs {
  TESSERA_STRUCT(MarkArgs, (Out<Stage, f32, Query, Key>, marks));
};

}  // namespace

TEST_CASE("a body that ignores its mask counts all of the tiles that are visited") {
  const auto visited = kernel("visited", grid<Query>, [](CountArgs<traced> a, Mask mask) {
    Tile<f32, Query> zero = 0;
    auto all = over<Key>(mask, zero, [&](KeyTile t, Tile<f32, Query> s) {
      t.ignore_mask();
      return let(s + reduce_sum<Key>(load(a.ones, t)));
    });
    auto live = over<Key>(mask, zero, [&](KeyTile t, Tile<f32, Query> s) {
      return let(s + reduce_sum<Key>(where(t.allowed, load(a.ones, t), 0)));
    });
    store(a.visited, all);
    store(a.allowed, live);
  });
  TestTensor ones(DType::f32, {200}), all(DType::f32, {200}), live(DType::f32, {200});
  ones.fill(1);
  Program program(visited.trace(Mask(causal)), {.tiles = {{"Query", 32}, {"Key", 16}}});
  program(CountArgs<bound>{.ones = ones.view(), .visited = all.view(), .allowed = live.view()});
  for (std::int64_t q = 0; q < 200; ++q) {
    CHECK(live.at({q}) == q + 1);
    CHECK(all.at({q}) == std::min<std::int64_t>((q / 32 + 1) * 32, 200));
  }
}

TEST_CASE("a body that stores writes the tiles that are visited, and no others") {
  const auto marked = kernel("marked", grid<Query>, [](MarkArgs<traced> a, Mask mask) {
    over<Key>(mask, [&](KeyTile t) { store(a.marks, t, where(t.allowed, Tile<f32, Query, Key>(1), 0)); });
  });
  TestTensor marks(DType::f32, {100, 100});
  marks.poison();
  Program program(marked.trace(Mask(causal)), {.tiles = {{"Query", 32}, {"Key", 16}}});
  program(MarkArgs<bound>{.marks = marks.view()});
  int wrong = 0;
  for (std::int64_t q = 0; q < 100; ++q) {
    for (std::int64_t k = 0; k < 100; ++k) {
      const double mark = marks.at({q, k});
      const bool visited = k / 16 * 16 <= std::min<std::int64_t>(q / 32 * 32 + 31, 99);
      wrong += visited ? mark != (k <= q ? 1 : 0) : mark == mark;
    }
  }
  CHECK(wrong == 0);
  CHECK(marks.guards_intact());
}
