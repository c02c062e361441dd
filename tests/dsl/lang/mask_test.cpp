// A mask means its lambda: the same generic lambda on integers and traced, at every point of a small square.
#include <algorithm>

#include <doctest/doctest.h>

#include <tessera/dsl/ir/interpret.h>
#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/verify.h>
#include <tessera/dsl/lang/lang.h>

#include "dsl/lang/integer.h"

using namespace tessera;
using test::Integer;
using test::IntegerAt;

namespace {

std::vector<ir::Argument> captures(const mask::Pointwise& p) {
  std::vector<ir::Argument> arguments;
  for (const mask::Capture& c : p.captures) {
    if (c.table) {
      arguments.push_back(View::contiguous(const_cast<void*>(c.table->data()), c.table->dtype(), c.table->shape()));
    } else {
      arguments.push_back(c.value);
    }
  }
  return arguments;
}

bool value_at(const Mask& m, std::int64_t q, std::int64_t k, std::vector<double> at = {0, 0, 40, 50}) {
  std::vector<double> arguments{static_cast<double>(q), static_cast<double>(k)};
  arguments.insert(arguments.end(), at.begin(), at.end());
  return ir::evaluate(m.predicate().function, arguments, captures(m.predicate())) != 0;
}

template <class F>
void agrees(const F& f) {
  const Mask m = f;
  CHECK(ir::verify(m.predicate().function) == "");
  for (int q = 0; q < 40; ++q) {
    for (int k = 0; k < 50; ++k) {
      CAPTURE(q);
      CAPTURE(k);
      const bool expected = f(Integer(q), Integer(k));
      REQUIRE(value_at(m, q, k) == expected);
    }
  }
}

template <class F>
void agrees_at(const F& f) {
  const Mask m = f;
  for (int head = 0; head < 3; ++head) {
    for (int q = 0; q < 20; ++q) {
      for (int k = 0; k < 25; ++k) {
        const bool expected = f(Integer(q), Integer(k), IntegerAt{head, 1, 20, 25});
        REQUIRE(value_at(m, q, k, {static_cast<double>(head), 1, 20, 25}) == expected);
      }
    }
  }
}

}  // namespace

TEST_CASE("masks equal their lambdas on integers") {
  agrees([](auto q, auto k) { return k <= q; });
  agrees([](auto q, auto k) { return k <= q && q - k < 7; });
  agrees([](auto q, auto k) { return !(k > q) || k < 3; });
  agrees([](auto q, auto k) { return abs(q - k) <= 5; });
  agrees([](auto q, auto k) { return (q - k) % 4 == 0; });
  agrees([](auto q, auto k) { return (k - 2 * q) / 3 <= -4; });
  agrees([](auto q, auto k) { return (k - q) / -3 > (q - 20) % -7; });
  agrees([](auto q, auto k) { return q / 8 == k / 8; });
  agrees([](auto q, auto k) { return min(q, k) * 2 >= max(q, k); });
  agrees([](auto q, auto k) { return where(q < 10, k, -k) > where(k < q, q - 35, k + 2); });
  agrees([](auto q, auto k) { return 3 * q != k + 1 && 30 >= k && 2 < q; });
  agrees([](auto q, auto k) { return (q < 5) == (k < 5) && -q < k - 9; });
}

TEST_CASE("captured numbers are constants") {
  const int window = 9;
  const bool causal = true;
  agrees([=](auto q, auto k) { return q - k <= window && (!causal || k <= q); });
}

TEST_CASE("a third parameter gives head, batch and lengths") {
  agrees_at([](auto q, auto k, auto at) { return k <= q + at.key_length - at.query_length; });
  agrees_at([](auto q, auto k, auto at) { return k % 3 == at.head || q < at.batch * 4; });
}

TEST_CASE("a bool is a mask of all or nothing") {
  const Mask all = [](Position, Position) { return true; };
  CHECK(value_at(all, 3, 4));
  CHECK(value_at(Mask(), 3, 4));
  CHECK_FALSE(value_at(~Mask(), 3, 4));
}

TEST_CASE("masks and lambdas compose") {
  const Mask causal = [](Position q, Position k) { return k <= q; };
  const Mask both = causal & [](Position q, Position k) { return q - k < 6; };
  const Mask left = [](Position q, Position k) { return q - k < 6; } & causal;
  const Mask either = [](Position q, Position) { return q < 4; } | [](Position, Position k) { return k < 2; };
  const Mask neither = ~either & ~causal;
  for (int q = 0; q < 20; ++q) {
    for (int k = 0; k < 20; ++k) {
      REQUIRE(value_at(both, q, k) == (k <= q && q - k < 6));
      REQUIRE(value_at(left, q, k) == (k <= q && q - k < 6));
      REQUIRE(value_at(either, q, k) == (q < 4 || k < 2));
      REQUIRE(value_at(neither, q, k) == (!(q < 4 || k < 2) && !(k <= q)));
    }
  }
}

TEST_CASE("tables are read by position, the nearest end beyond") {
  std::vector<int> ids;
  for (int i = 0; i < 30; ++i) ids.push_back(i * i % 5);
  const Table doc(ids);
  const Mask same = [doc](Position q, Position k) { return doc[q] == doc[k]; };
  CHECK(same.predicate().captures.size() == 1);
  const Table bits(std::vector<int>{1, 0, 0, 1, 1, 0}, 2, 3);
  const Mask blocks = [bits](Position q, Position k) { return bits(q / 16, k / 16) != 0; };
  const Table weights(std::vector<float>{0.5f, -1.5f, 2.0f});
  const Mask heavy = [weights](Position q, Position k) { return weights[q % 3] * cast<f32>(k) > 9.0; };
  auto clamp = [](int i, int n) { return i < n ? i : n - 1; };
  const int expected[] = {1, 0, 0, 1, 1, 0};
  const double scale[] = {0.5, -1.5, 2.0};
  for (int q = 0; q < 40; ++q) {
    for (int k = 0; k < 50; ++k) {
      REQUIRE(value_at(same, q, k) == (ids[clamp(q, 30)] == ids[clamp(k, 30)]));
      REQUIRE(value_at(blocks, q, k) == (expected[clamp(q / 16, 2) * 3 + clamp(k / 16, 3)] != 0));
      REQUIRE(value_at(heavy, q, k) == (scale[q % 3] * k > 9.0));
    }
  }
}

TEST_CASE("parameters of a mask are its tables and numbers, by name") {
  const Param<i32> left{"left", 12};
  const Table<f32, 4> bias("bias");
  const Mask m = [=](Position q, Position k, At at) {
    return q - k <= left && k - q <= left && bias(at.batch, at.head, q, k) > 0.0;
  };
  const ir::Function& f = m.predicate().function;
  REQUIRE(f.params.size() == 2);
  CHECK(f.params[0].name == "left");
  CHECK(f.params[0].kind == ir::ParamKind::scalar);
  CHECK(m.predicate().captures[0].value == 12);
  CHECK(f.params[1].name == "bias");
  CHECK(f.params[1].rank == 4);
  CHECK(m.predicate().captures[1].table == nullptr);
  CHECK(m.predicate().data_at_call());
  CHECK(m.named("near").predicate().function.name == "near");
}

TEST_CASE("a mask is called inside another, at positions of its own") {
  Table doc(std::vector<int>{0, 0, 1, 1, 1});
  Param<i32> left{"left", 2};
  const Mask own = [=](Position q, Position k) { return doc[q] == doc[k] && q - k <= left; };
  const Mask before = [&](Position q, Position k, At at) {
    return own(q - 1, k, at) || own(q, k + 1, at) || doc[k] == 7;
  };
  CHECK(ir::verify(before.predicate().function) == "");
  CHECK(before.predicate().function.params.size() == 2);  // the table once, and the number
  const int ids[] = {0, 0, 1, 1, 1};
  const auto id = [&](int i) { return ids[std::clamp(i, 0, 4)]; };
  for (int q = 0; q < 5; ++q)
    for (int k = 0; k < 5; ++k) {
      const bool expected = (id(q - 1) == id(k) && q - 1 - k <= 2) || (id(q) == id(k + 1) && q - k - 1 <= 2);
      CHECK(value_at(before, q, k) == expected);
    }
  const Score outside = [&](ScoreValue s, Position q, Position k, At at) { return where(own(q, k, at), s, s - 3); };
  CHECK(outside.shared()->function.params.size() == 2);
}

TEST_CASE("the lengths a mask is made for stay with what is made of it") {
  const Mask grid = Mask([](Position q, Position k) {
                      return q / 8 == k / 8;
                    }).for_lengths("the grid", mask::Extent::exactly(64), mask::Extent::at_most(80));
  const Mask shifted = [&](Position q, Position k, At at) { return grid(q, k - 1, at); };
  for (const Mask& made : {grid, ~grid, grid & Mask(), Mask() | grid, shifted, grid.named("other")}) {
    REQUIRE(made.predicate().lengths.size() == 1);
    CHECK(made.predicate().lengths[0].of == "the grid");
    CHECK_NOTHROW(mask::check_lengths(made.predicate(), 64, 80, {}));
    CHECK_NOTHROW(mask::check_lengths(made.predicate(), 64, 0, {}));
    CHECK_THROWS_AS(mask::check_lengths(made.predicate(), 63, 80, {}), UserError);
    CHECK_THROWS_AS(mask::check_lengths(made.predicate(), 64, 81, {}), UserError);
  }
  CHECK((grid & grid).predicate().lengths.size() == 2);
}

TEST_CASE("unnamed tables get different names") {
  const Table a(std::vector<int>{1, 2}), b(std::vector<int>{3, 4}), c = a.named("table");
  const Mask m = [=](Position q, Position k) { return a[q] == b[k] && a[k] < b[q] && c[q] < 5; };
  const auto& params = m.predicate().function.params;
  REQUIRE(params.size() == 2);  // c is a, under another name
  CHECK(params[0].name == "table");
  CHECK(params[1].name == "table1");
}

TEST_CASE("a grid gives coordinates, outermost first") {
  const Grid video{3, 4, 5};
  CHECK(video.tokens() == 60);
  for (int i = 0; i < 3; ++i) {
    const Mask is = [=](Position q, Position k) { return video(q)[static_cast<std::size_t>(i)] == k; };
    for (int token = 0; token < 60; ++token) {
      const int coordinate[] = {token / 20, token / 5 % 4, token % 5};
      for (int k = 0; k < 6; ++k) REQUIRE(value_at(is, token, k) == (coordinate[i] == k));
    }
  }
  // Tokens past the end: the outermost coordinate goes on counting, the others as everywhere.
  const Mask frame = [video](Position q, Position k) { return video(q)[0] == k; };
  const Mask column = [video](Position q, Position k) { return video(q)[2] == k; };
  for (int token : {60, 79, 80, 1999}) {
    CHECK(value_at(frame, token, token / 20));
    CHECK(value_at(column, token, token % 5));
  }
  const Mask near = [video](Position q, Position k) {
    auto [qt, qy, qx] = video(q);
    auto [kt, ky, kx] = video(k);
    auto column = [qx = qx, kx = kx] { return let(abs(qx - kx)); };
    return abs(qy - ky) <= 1 && column() <= 1 && (qt - kt) % 2 == 0;
  };
  CHECK(value_at(near, 0, 46));
  CHECK_FALSE(value_at(near, 0, 26));
}

TEST_CASE("a score maps a value at a position") {
  const Table slopes(std::vector<float>{0.5f, 0.25f});
  const Score far = [slopes](ScoreValue s, Position q, Position k, At at) {
    return s - slopes[at.head] * cast<f32>(q - k);
  };
  const Score cap = [](ScoreValue s, Position, Position) { return 30.0 * tanh(s / 30.0); };
  CHECK(ir::evaluate(far.map().function, {10, 4, 1, 0, 40, 50, 2.0}, captures(far.map())) == 2.0 - 0.25 * 6);
  CHECK(ir::evaluate(cap.map().function, {10, 4, 1, 0, 40, 50, 60.0}, {}) == doctest::Approx(30 * 0.9640276));
  CHECK(far.map().function.result_arguments() == 1);
}
