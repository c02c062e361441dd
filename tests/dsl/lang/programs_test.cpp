// Programs that are not attention: what the language says is a program like any other.
#include <cmath>

#include <doctest/doctest.h>

#include <tessera/dsl/ir/interpret.h>
#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/lang/lang.h>

#include "support/golden.h"
#include "support/tensor.h"

using namespace tessera;
using test::TestTensor;

namespace {

TESSERA_AXIS(Row);
TESSERA_AXIS(Column);
TESSERA_AXIS(Inner);

template <class Bound>
void run(const Traced& traced, const Bound& call) {
  ir::interpret(traced.kernel, ir::bind(traced.kernel, arguments(call, traced.kernel)));
}

// ---- elementwise, with a scalar and a cast
template <class Stage, DType T>
struct ScaleArgs {
  TESSERA_STRUCT(ScaleArgs, (In<Stage, f32, Row, Column>, x), (Out<Stage, T, Row, Column>, y),
                 (Scalar<Stage, f32>, factor));
};
const auto rescale = kernel("rescale", grid<Row>, []<DType T>(ScaleArgs<traced, T> a) {
  Tile<f32, Row, Column> x = load(a.x);
  x *= a.factor;
  store(a.y, cast<T>(where(x > 0, x, exp(x) - 1)));
});

// ---- a matrix product that walks the inner axis
template <class Stage, DType T>
struct ProductArgs {
  TESSERA_STRUCT(ProductArgs, (In<Stage, T, Row, Inner>, a), (In<Stage, T, Inner, Column>, b),
                 (Out<Stage, f32, Row, Column>, c));
};
const auto product = kernel("product", grid<Row, Column>, []<DType T>(ProductArgs<traced, T> a) {
  auto end = loop<Inner>(Tile<f32, Row, Column>(0), [&](TileIndex<Inner> t, Tile<f32, Row, Column> sum) {
    Tile<T, Row, Inner> x = load(a.a, t);
    return let(sum + dot(x, load(a.b, t)));
  });
  store(a.c, end);
});

// ---- a loop that stores as it goes, and a tile-uniform branch
template <class Stage>
struct ClampArgs {
  TESSERA_STRUCT(ClampArgs, (In<Stage, f32, Row, Column>, x), (Out<Stage, f32, Row, Column>, y),
                 (Out<Stage, i32, Row>, count));
};
const auto clamped = kernel("clamped", grid<Row>, [](ClampArgs<traced> a) {
  Tile<i32, Row> count = loop<Column>(Tile<i32, Row>(0), [&](TileIndex<Column> t, Tile<i32, Row> n) {
    Tile<f32, Row, Column> x = load(a.x, t);
    store(a.y, t, min(max(x, -1), 1));
    return when(any(abs(x) > 1), n,
                [&](Tile<i32, Row> m) { return let(m + reduce_sum<Column>(cast<i32>(abs(x) > 1))); });
  });
  store(a.count, count);
});

// ---- counted loop over a struct, with a run-time bound and a table
template <class Stage>
struct PowerArgs {
  TESSERA_STRUCT(PowerArgs, (In<Stage, f32, Row>, x), (Lookup<Stage, i32, 1>, steps), (Out<Stage, f32, Row>, y),
                 (Out<Stage, i32, Row>, at));
};
struct Power {
  TESSERA_STRUCT(Power, (Tile<f32, Row>, value), (Tile<i32>, trips));
};
const auto power = kernel("power", grid<Row, Batch>, [](PowerArgs<traced> a) {
  Tile<f32, Row> x = load(a.x);
  auto end = loop(0, a.steps[index<Batch>()], Power{1, 0},
                  [&](Tile<i32> i, Power s) { return Power{s.value * x + cast<f32>(i), s.trips + 1}; });
  store(a.y, end.value);
  store(a.at, positions<Row>() + end.trips);
});

// ---- linear attention: the state is a matrix
template <class Stage>
struct LinearArgs {
  TESSERA_STRUCT(LinearArgs, (In<Stage, f16, Query, Depth>, q), (In<Stage, f16, Key, Depth>, k),
                 (In<Stage, f16, Key, Value>, v), (Out<Stage, f32, Query, Value>, o));
};
const auto linear = kernel("linear", grid<Query, Head, Batch>, [](LinearArgs<traced> a) {
  auto state = loop<Key>(Tile<f32, Depth, Value>(0), [&](KeyTile t, Tile<f32, Depth, Value> s) {
    Tile<f16, Key, Depth> k = load(a.k, t);
    return let(s + dot(k, load(a.v, t)));
  });
  store(a.o, dot(load(a.q), cast<f16>(state)));
});

}  // namespace

TEST_CASE("an elementwise program") {
  TestTensor x(f32, {70, 9}), y(bf16, {70, 9});
  x.fill_normal(5);
  const Traced traced = rescale.trace<bf16>();
  test::check_golden("lang_rescale", ir::print(traced.kernel));
  run(traced, ScaleArgs<bound, bf16>{.x = x.view(), .y = y.view(), .factor = 1.5});
  for (std::int64_t r = 0; r < 70; ++r) {
    for (std::int64_t c = 0; c < 9; ++c) {
      const double v = 1.5 * x.at({r, c});
      CHECK(y.at({r, c}) == doctest::Approx(v > 0 ? v : std::exp(v) - 1).epsilon(0.01));
    }
  }
}

TEST_CASE("a matrix product") {
  TestTensor a(f16, {70, 130}), b(f16, {130, 20}), c(f32, {70, 20});
  a.fill_normal(1);
  b.fill_normal(2);
  const Traced traced = product.trace<f16>();
  test::check_golden("lang_product", ir::print(traced.kernel));
  run(traced, ProductArgs<bound, f16>{.a = a.view(), .b = b.view(), .c = c.view()});
  for (std::int64_t i = 0; i < 70; ++i) {
    for (std::int64_t j = 0; j < 20; ++j) {
      double sum = 0;
      for (std::int64_t n = 0; n < 130; ++n) sum += static_cast<double>(a.at({i, n})) * b.at({n, j});
      REQUIRE(std::abs(c.at({i, j}) - sum) < 1e-4);
    }
  }
}

TEST_CASE("a loop that stores, and a branch for the whole tile") {
  TestTensor x(f32, {65, 150}), y(f32, {65, 150}), count(i32, {65});
  x.fill(0.5);
  x.set({3, 140}, 7);
  x.set({64, 0}, -9);
  x.set({64, 1}, 2);
  const Traced traced = clamped.trace();
  test::check_golden("lang_clamped", ir::print(traced.kernel));
  run(traced, ClampArgs<bound>{.x = x.view(), .y = y.view(), .count = count.view()});
  CHECK(y.at({3, 140}) == 1);
  CHECK(y.at({64, 0}) == -1);
  CHECK(y.at({10, 10}) == 0.5f);
  CHECK(count.at({3}) == 1);
  CHECK(count.at({64}) == 2);
  CHECK(count.at({0}) == 0);
}

TEST_CASE("a counted loop to a bound read from a table") {
  TestTensor x(f32, {2, 5}), y(f32, {2, 5}), at(i32, {2, 5});
  x.fill(3);
  std::vector<std::int32_t> steps{0, 3};
  const Traced traced = power.trace();
  test::check_golden("lang_power", ir::print(traced.kernel));
  run(traced, PowerArgs<bound>{
                  .x = x.view(), .steps = View::contiguous(steps.data(), i32, {2}), .y = y.view(), .at = at.view()});
  CHECK(y.at({0, 4}) == 1);
  CHECK(y.at({1, 4}) == ((1 * 3 + 0) * 3 + 1) * 3 + 2);
  CHECK(at.at({0, 4}) == 4);
  CHECK(at.at({1, 4}) == 7);
}

TEST_CASE("linear attention carries a matrix") {
  TestTensor q(f16, {1, 2, 10, 8}), k(f16, {1, 2, 90, 8}), v(f16, {1, 2, 90, 16}), o(f32, {1, 2, 10, 16});
  q.fill_normal(1);
  k.fill_normal(2, 0.25);
  v.fill_normal(3, 0.25);
  const Traced traced = linear.trace();
  test::check_golden("lang_linear", ir::print(traced.kernel));
  run(traced, LinearArgs<bound>{.q = q.view(), .k = k.view(), .v = v.view(), .o = o.view()});
  for (std::int64_t h = 0; h < 2; ++h) {
    double sum = 0;
    for (std::int64_t d = 0; d < 8; ++d) {
      double state = 0;
      for (std::int64_t n = 0; n < 90; ++n) state += static_cast<double>(k.at({0, h, n, d})) * v.at({0, h, n, 5});
      sum += q.at({0, h, 7, d}) * state;
    }
    CHECK(o.at({0, h, 7, 5}) == doctest::Approx(sum).epsilon(0.01));
  }
}

TEST_CASE("a bound call lists its arguments in the kernel's order") {
  float x[4], y[4];
  const Traced traced = rescale.trace<f32>();
  const auto list = arguments(
      ScaleArgs<bound, f32>{.x = View::contiguous(x, f32, {2, 2}), .y = View::contiguous(y, f32, {2, 2}), .factor = 3},
      traced.kernel);
  REQUIRE(list.size() == 3);
  CHECK(std::get<View>(list[0]).data == x);
  CHECK(std::get<View>(list[1]).data == y);
  CHECK(std::get<double>(list[2]) == 3);
}
