// Block programs that are not attention, each with its definition in fp64: elementwise, reductions, a matrix product.
// Run on the interpreter and on a GPU; `on` says where, by what it makes of a tensor:
//   View on(TestTensor&)     the tensor as a call takes it
//   on.finish()              waits, and brings back what was written
#pragma once

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include <tessera/dsl/lang/lang.h>
#include <tessera/library/program.h>

#include "support/tensor.h"

namespace tessera::test::programs {

TESSERA_AXIS(Row);
TESSERA_AXIS(Inner);
TESSERA_AXIS(Column);

template <class Stage>
struct NormArgs {
  TESSERA_STRUCT(NormArgs, (In<Stage, f32, Row, Column>, x), (Out<Stage, f32, Row>, y), (Scalar<Stage, f32>, factor));
};
inline const auto row_norm = kernel("row_norm", grid<Row>, [](NormArgs<traced> a) {
  Tile<f32, Row, Column> x = load(a.x);
  store(a.y, sqrt(reduce_sum<Column>(x * x)) * a.factor);
});

template <class Stage>
struct GateArgs {
  TESSERA_STRUCT(GateArgs, (In<Stage, f32, Row, Column>, x), (In<Stage, bf16, Row, Column>, gate),
                 (Out<Stage, bf16, Row, Column>, y), (Scalar<Stage, f32>, scale));
};
inline const auto gated = kernel("gated", grid<Row>, [](GateArgs<traced> a) {
  Tile<f32, Row, Column> x = load(a.x);
  Tile<f32, Row, Column> g = cast<f32>(load(a.gate));
  store(a.y, cast<bf16>(where(g > 0, x * g * a.scale, 0)));
});

template <class Stage>
struct SoftmaxArgs {
  TESSERA_STRUCT(SoftmaxArgs, (In<Stage, f32, Row, Column>, x), (Out<Stage, f32, Row, Column>, y),
                 (Out<Stage, f32, Row>, sum));
};
inline const auto row_softmax = kernel("row_softmax", grid<Row>, [](SoftmaxArgs<traced> a) {
  Tile<f32, Row, Column> x = load(a.x);
  Tile<f32, Row> top = reduce_max<Column>(x);
  Tile<f32, Row, Column> e = exp(x - top);
  Tile<f32, Row> sum = reduce_sum<Column>(e);
  store(a.y, e / sum);
  store(a.sum, sum);
});

template <class Stage>
struct SumArgs {
  TESSERA_STRUCT(SumArgs, (In<Stage, f32, Row, Column>, x), (Out<Stage, f32, Column>, sum));
};
inline const auto column_sums = kernel("column_sums", grid<Column>, [](SumArgs<traced> a) {
  Tile<f32, Column> zero = 0;
  auto sum = loop<Row>(zero, [&](TileIndex<Row> t, Tile<f32, Column> s) {
    return Tile<f32, Column>(s + reduce_sum<Row>(load(a.x, t)));
  });
  store(a.sum, sum);
});

template <class Stage, DType T>
struct ProductArgs {
  TESSERA_STRUCT(ProductArgs, (In<Stage, T, Row, Inner>, a), (In<Stage, T, Inner, Column>, b),
                 (Out<Stage, f32, Row, Column>, c));
};
inline const auto product = kernel("product", grid<Row, Column>, []<DType T>(ProductArgs<traced, T> a) {
  auto sum = loop<Inner>(Tile<f32, Row, Column>(0), [&](TileIndex<Inner> t, Tile<f32, Row, Column> s) {
    return Tile<f32, Row, Column>(s + dot(load(a.a, t), load(a.b, t)));
  });
  store(a.c, sum);
});

template <class On>
void check_row_norm(On on, std::int64_t rows) {
  TestTensor x(DType::f32, {rows, 24}, {.row_padding = 4, .order = {}}), y(DType::f32, {rows});
  x.fill_normal(3);
  y.poison();
  Program program(row_norm.trace(), {.tiles = {{"Row", 16}}, .whole = {{"Column", 24}}});
  program(NormArgs<bound>{.x = on(x), .y = on(y), .factor = 3});
  on.finish();
  for (std::int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::int64_t d = 0; d < 24; ++d) sum += static_cast<double>(x.at({r, d})) * x.at({r, d});
    CHECK(y.at({r}) == doctest::Approx(3 * std::sqrt(sum)).epsilon(1e-5));
  }
  CHECK(y.guards_intact());
}

template <class On>
void check_gated(On on, std::int64_t rows) {
  TestTensor x(DType::f32, {rows, 72}, {.row_padding = 4, .order = {}}), g(DType::bf16, {rows, 72}),
      y(DType::bf16, {rows, 72});
  x.fill_normal(1);
  g.fill_normal(2);
  y.poison();
  Program program(gated.trace(), {.tiles = {{"Row", 32}}, .whole = {{"Column", 72}}});
  program(GateArgs<bound>{.x = on(x), .gate = on(g), .y = on(y), .scale = 3});
  on.finish();
  int wrong = 0;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < 72; ++c) {
      const double expected = g.at({r, c}) > 0 ? 3.0 * x.at({r, c}) * g.at({r, c}) : 0;
      wrong += !(std::abs(y.at({r, c}) - expected) <= std::abs(expected) / 128);
    }
  CHECK(wrong == 0);
  CHECK(y.guards_intact());
}

template <class On>
void check_row_softmax(On on, std::int64_t width) {
  TestTensor x(DType::f32, {50, width}), y(DType::f32, {50, width}), sum(DType::f32, {50});
  x.fill_normal(1, 4);
  y.poison();
  sum.poison();
  Program program(row_softmax.trace(), {.tiles = {{"Row", 16}}, .whole = {{"Column", static_cast<int>(width)}}});
  program(SoftmaxArgs<bound>{.x = on(x), .y = on(y), .sum = on(sum)});
  on.finish();
  double worst = 0;
  for (std::int64_t r = 0; r < 50; ++r) {
    double top = -INFINITY, total = 0;
    for (std::int64_t c = 0; c < width; ++c) top = std::max<double>(top, x.at({r, c}));
    for (std::int64_t c = 0; c < width; ++c) total += std::exp(x.at({r, c}) - top);
    for (std::int64_t c = 0; c < width; ++c)
      worst = std::max(worst, std::abs(y.at({r, c}) - std::exp(x.at({r, c}) - top) / total));
    CHECK(sum.at({r}) == doctest::Approx(total).epsilon(1e-5));
  }
  CHECK(worst < 1e-6);
  CHECK(y.guards_intact());
}

template <class On>
void check_column_sums(On on) {
  TestTensor x(DType::f32, {1000, 64}), sum(DType::f32, {64});
  x.fill_normal(5);
  sum.poison();
  Program program(column_sums.trace(), {.tiles = {{"Column", 32}, {"Row", 64}}});
  program(SumArgs<bound>{.x = on(x), .sum = on(sum)});
  on.finish();
  for (std::int64_t c = 0; c < 64; ++c) {
    double expected = 0;
    for (std::int64_t r = 0; r < 1000; ++r) expected += x.at({r, c});
    CHECK(sum.at({c}) == doctest::Approx(expected).epsilon(1e-4));
  }
}

template <class On>
void check_product(On on, std::int64_t m, std::int64_t n, std::int64_t k, std::vector<AxisTile> tiles) {
  TestTensor a(DType::bf16, {m, k}), b(DType::bf16, {k, n}), c(DType::f32, {m, n});
  a.fill_normal(1);
  b.fill_normal(2);
  c.poison();
  Program program(product.template trace<bf16>(), {.tiles = std::move(tiles)});
  program(ProductArgs<bound, bf16>{.a = on(a), .b = on(b), .c = on(c)});
  on.finish();
  double worst = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t x = 0; x < k; ++x) sum += static_cast<double>(a.at({i, x})) * b.at({x, j});
      worst = std::max(worst, std::abs(c.at({i, j}) - sum));
    }
  CHECK(worst < 2e-3);
  CHECK(c.guards_intact());
}

}  // namespace tessera::test::programs
