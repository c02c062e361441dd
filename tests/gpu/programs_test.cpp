// Block-level programs without attention in them, on the GPU: an elementwise one, reductions, a matrix product.
#include <doctest/doctest.h>

#include <cmath>

#include <tessera/dsl/lang/lang.h>
#include <tessera/library/program.h>

#include "gpu/device_case.h"

using namespace tessera;
using namespace tessera::test;

namespace {

TESSERA_AXIS(Row);
TESSERA_AXIS(Inner);
TESSERA_AXIS(Column);

template <class Stage>
struct GateArgs {
  TESSERA_STRUCT(GateArgs, (In<Stage, f32, Row, Column>, x), (In<Stage, bf16, Row, Column>, gate),
                 (Out<Stage, bf16, Row, Column>, y), (Scalar<Stage, f32>, scale));
};
const auto gated = kernel("gated", grid<Row>, [](GateArgs<traced> a) {
  Tile<f32, Row, Column> x = load(a.x);
  Tile<f32, Row, Column> g = cast<f32>(load(a.gate));
  store(a.y, cast<bf16>(where(g > 0, x * g * a.scale, 0)));
});

template <class Stage>
struct SoftmaxArgs {
  TESSERA_STRUCT(SoftmaxArgs, (In<Stage, f32, Row, Column>, x), (Out<Stage, f32, Row, Column>, y),
                 (Out<Stage, f32, Row>, sum));
};
const auto row_softmax = kernel("row_softmax", grid<Row>, [](SoftmaxArgs<traced> a) {
  Tile<f32, Row, Column> x = load(a.x);
  Tile<f32, Row> top = reduce_max<Column>(x);
  Tile<f32, Row, Column> e = exp(x - top);
  Tile<f32, Row> sum = reduce_sum<Column>(e);
  store(a.y, e / sum);
  store(a.sum, sum);
});

template <class Stage>
struct MeanArgs {
  TESSERA_STRUCT(MeanArgs, (In<Stage, f32, Row, Column>, x), (Out<Stage, f32, Column>, sum));
};
const auto column_sums = kernel("column_sums", grid<Column>, [](MeanArgs<traced> a) {
  Tile<f32, Column> zero = 0;
  auto sum = loop<Row>(zero, [&](TileIndex<Row> t, Tile<f32, Column> s) {
    return Tile<f32, Column>(s + reduce_sum<Row>(load(a.x, t)));
  });
  store(a.sum, sum);
});

template <class Stage>
struct ProductArgs {
  TESSERA_STRUCT(ProductArgs, (In<Stage, bf16, Row, Inner>, a), (In<Stage, bf16, Inner, Column>, b),
                 (Out<Stage, f32, Row, Column>, c));
};
const auto product = kernel("product", grid<Row, Column>, [](ProductArgs<traced> a) {
  auto sum = loop<Inner>(Tile<f32, Row, Column>(0), [&](TileIndex<Inner> t, Tile<f32, Row, Column> s) {
    return Tile<f32, Row, Column>(s + dot(load(a.a, t), load(a.b, t)));
  });
  store(a.c, sum);
});

}  // namespace

TEST_CASE("a fused elementwise program") {
  for (std::int64_t rows : {1, 33, 200}) {
    TestTensor x(DType::f32, {rows, 72}, {.row_padding = 4, .order = {}}), g(DType::bf16, {rows, 72}),
        y(DType::bf16, {rows, 72});
    x.fill_normal(1);
    g.fill_normal(2);
    y.poison();
    DeviceTensor dx(x), dg(g), dy(y);
    Program program(gated.trace(), {.tiles = {{"Row", 32}}, .whole = {{"Column", 72}}});
    program(GateArgs<bound>{.x = dx.view(), .gate = dg.view(), .y = dy.view(), .scale = 3});
    test_device().synchronize();
    dy.download(y);
    int wrong = 0;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < 72; ++c) {
        const double expected = g.at({r, c}) > 0 ? 3.0 * x.at({r, c}) * g.at({r, c}) : 0;
        wrong += !(std::abs(y.at({r, c}) - expected) <= std::abs(expected) / 128);
      }
    CHECK(wrong == 0);
    CHECK(y.guards_intact());
  }
}

TEST_CASE("a row softmax over a width that no tile has") {
  for (std::int64_t width : {8, 40, 100, 250}) {
    TestTensor x(DType::f32, {50, width}), y(DType::f32, {50, width}), sum(DType::f32, {50});
    x.fill_normal(1, 4);
    y.poison();
    sum.poison();
    DeviceTensor dx(x), dy(y), ds(sum);
    Program program(row_softmax.trace(), {.tiles = {{"Row", 16}}, .whole = {{"Column", static_cast<int>(width)}}});
    program(SoftmaxArgs<bound>{.x = dx.view(), .y = dy.view(), .sum = ds.view()});
    test_device().synchronize();
    dy.download(y);
    double worst = 0;
    for (std::int64_t r = 0; r < 50; ++r) {
      double top = -INFINITY, total = 0;
      for (std::int64_t c = 0; c < width; ++c) top = std::max<double>(top, x.at({r, c}));
      for (std::int64_t c = 0; c < width; ++c) total += std::exp(x.at({r, c}) - top);
      for (std::int64_t c = 0; c < width; ++c)
        worst = std::max(worst, std::abs(y.at({r, c}) - std::exp(x.at({r, c}) - top) / total));
    }
    CHECK(worst < 1e-6);
    CHECK(y.guards_intact());
  }
}

TEST_CASE("a reduction over the axis that warps divide") {
  TestTensor x(DType::f32, {1000, 64}), sum(DType::f32, {64});
  x.fill_normal(5);
  sum.poison();
  DeviceTensor dx(x), ds(sum);
  Program program(column_sums.trace(), {.tiles = {{"Column", 32}, {"Row", 64}}});
  program(MeanArgs<bound>{.x = dx.view(), .sum = ds.view()});
  test_device().synchronize();
  ds.download(sum);
  for (std::int64_t c = 0; c < 64; ++c) {
    double expected = 0;
    for (std::int64_t r = 0; r < 1000; ++r) expected += x.at({r, c});
    CHECK(sum.at({c}) == doctest::Approx(expected).epsilon(1e-4));
  }
}

TEST_CASE("a matrix product") {
  for (auto [m, n, k] : {std::tuple{64, 64, 64}, {200, 136, 520}, {1, 8, 16}, {300, 264, 72}}) {
    TestTensor a(DType::bf16, {m, k}), b(DType::bf16, {k, n}), c(DType::f32, {m, n});
    a.fill_normal(1);
    b.fill_normal(2);
    c.poison();
    DeviceTensor da(a), db(b), dc(c);
    Program program(product.trace(), {.tiles = {{"Row", 128}, {"Column", 128}, {"Inner", 64}}});
    program(ProductArgs<bound>{.a = da.view(), .b = db.view(), .c = dc.view()});
    test_device().synchronize();
    dc.download(c);
    double worst = 0;
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int x = 0; x < k; ++x) sum += static_cast<double>(a.at({i, x})) * b.at({x, j});
        worst = std::max(worst, std::abs(c.at({i, j}) - sum));
      }
    CHECK(worst < 2e-3);
    CHECK(c.guards_intact());
  }
}
