// Block-level programs without attention in them, and with a mask of their own, through the same door.
#include <tessera/library/program.h>

#include <cmath>

#include <doctest/doctest.h>

#include <tessera/library/forward.h>
#include <tessera/library/patterns.h>

#include "library/attention_case.h"

using namespace tessera;
using namespace tessera::test;

namespace {

template <class Stage>
struct RowArgs {
  TESSERA_STRUCT(RowArgs, (In<Stage, f32, Query, Value>, x), (Out<Stage, f32, Query>, y), (Scalar<Stage, f32>, factor));
};

const auto row_norm = kernel("row_norm", grid<Query>, [](RowArgs<traced> a) {
  Tile<f32, Query, Value> x = load(a.x);
  store(a.y, sqrt(reduce_sum<Value>(x * x)) * a.factor);
});

TESSERA_AXIS(Row);
TESSERA_AXIS(Inner);
TESSERA_AXIS(Column);

template <class Stage>
struct ProductArgs {
  TESSERA_STRUCT(ProductArgs, (In<Stage, bf16, Row, Inner>, a), (In<Stage, bf16, Column, Inner>, b),
                 (Out<Stage, f32, Row, Column>, c));
};

const auto product = kernel("product", grid<Row, Column>, [](ProductArgs<traced> a) {
  auto sum = loop<Inner>(Tile<f32, Row, Column>(0), [&](TileIndex<Inner> t, Tile<f32, Row, Column> s) {
    return Tile<f32, Row, Column>(s + dot(load(a.a, t), load(a.b, t)));
  });
  store(a.c, sum);
});

}  // namespace

TEST_CASE("a row reduction, at lengths that no tile divides") {
  for (std::int64_t rows : {1, 15, 16, 100}) {
    TestTensor x(DType::f32, {rows, 24}, {.row_padding = 4}), y(DType::f32, {rows});
    x.fill_normal(3);
    y.poison();
    Program program(row_norm.trace(), {.tiles = {{"Query", 16}}, .whole = {{"Value", 24}}});
    program(RowArgs<bound>{.x = x.view(), .y = y.view(), .factor = 3});
    for (std::int64_t r = 0; r < rows; ++r) {
      double sum = 0;
      for (std::int64_t d = 0; d < 24; ++d) sum += static_cast<double>(x.at({r, d})) * x.at({r, d});
      CHECK(y.at({r}) == doctest::Approx(3 * std::sqrt(sum)).epsilon(1e-5));
    }
    CHECK(y.guards_intact());
  }
}

TEST_CASE("a matrix product over ragged sizes") {
  TestTensor a(DType::bf16, {70, 88}), b(DType::bf16, {50, 88}), c(DType::f32, {70, 50});
  a.fill_normal(1);
  b.fill_normal(2);
  c.poison();
  Program program(product.trace(), {.tiles = {{"Row", 64}, {"Column", 32}, {"Inner", 64}}});
  program(ProductArgs<bound>{.a = a.view(), .b = b.view(), .c = c.view()});
  double worst = 0;
  for (std::int64_t i = 0; i < 70; ++i) {
    for (std::int64_t j = 0; j < 50; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < 88; ++k) sum += static_cast<double>(a.at({i, k})) * b.at({j, k});
      worst = std::max(worst, std::abs(c.at({i, j}) - sum));
    }
  }
  CHECK(worst < 1e-4);
  CHECK(c.guards_intact());
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
