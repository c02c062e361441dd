#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstring>

#include <tessera/dsl/ir/interpret_elementwise.h>
#include <tessera/dsl/ir/interpret_number.h>
#include <tessera/dsl/ir/interpret_tile.h>

#include "dsl/ir/interpret_support.h"

using namespace tessera;
using namespace tessera::ir;
using namespace tessera::ir::interp;

namespace {

const Axis kRow = Axis::named("Row"), kColumn = Axis::named("Column");
constexpr float inf = std::numeric_limits<float>::infinity();
const float qnan = std::nanf("");
constexpr std::int32_t least = INT32_MIN, most = INT32_MAX;

Tile floats(std::vector<float> values, Axis axis = kRow, DType dtype = DType::f32) {
  Tile tile(dtype, {{axis, static_cast<int>(values.size())}});
  std::copy(values.begin(), values.end(), tile.data<float>());
  return tile;
}
Tile integers(std::vector<std::int32_t> values, Axis axis = kRow, DType dtype = DType::i32) {
  Tile tile(dtype, {{axis, static_cast<int>(values.size())}});
  std::copy(values.begin(), values.end(), tile.data<std::int32_t>());
  return tile;
}

template <class... T>
Tile run(OpCode code, DType result, const T&... operands) {
  const Tile* list[] = {&operands...};
  return elementwise(code, result, list);
}

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

void check_floats(const Tile& tile, const std::vector<float>& wanted) {
  REQUIRE(tile.elements() == static_cast<std::int64_t>(wanted.size()));
  REQUIRE(tile.holds_floats());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CAPTURE(i);
    CAPTURE(tile.data<float>()[i]);
    CAPTURE(wanted[i]);
    CHECK(same(tile.data<float>()[i], wanted[i]));
  }
}
void check_integers(const Tile& tile, const std::vector<std::int32_t>& wanted) {
  REQUIRE(tile.elements() == static_cast<std::int64_t>(wanted.size()));
  REQUIRE(!tile.holds_floats());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CAPTURE(i);
    CHECK(tile.data<std::int32_t>()[i] == wanted[i]);
  }
}

struct FloatUnary {
  OpCode code;
  std::vector<float> in, out;
};
struct FloatBinary {
  OpCode code;
  std::vector<float> a, b, out;
};
struct IntBinary {
  OpCode code;
  std::vector<std::int32_t> a, b, out;
};

}  // namespace

TEST_CASE("float operations of one operand have their values at the edges") {
  const std::vector<FloatUnary> table = {
      {OpCode::neg, {1, -0.0f, inf, qnan}, {-1, 0.0f, -inf, qnan}},
      {OpCode::abs, {-2, -0.0f, -inf, qnan}, {2, 0.0f, inf, qnan}},
      {OpCode::exp, {0, -inf, inf, 200, -200, qnan}, {1, 0, inf, inf, 0, qnan}},
      {OpCode::exp2, {0, 3, -1, -inf, inf, 128, -1000, qnan}, {1, 8, 0.5f, 0, inf, inf, 0, qnan}},
      {OpCode::log, {1, 0, -0.0f, inf, -1, qnan}, {0, -inf, -inf, inf, qnan, qnan}},
      {OpCode::log2, {8, 0.25f, 0, inf, -1}, {3, -2, -inf, inf, qnan}},
      {OpCode::tanh, {0, -0.0f, 100, -inf, qnan}, {0, -0.0f, 1, -1, qnan}},
      {OpCode::sqrt, {9, 0, -0.0f, inf, -1}, {3, 0, -0.0f, inf, qnan}},
      {OpCode::rsqrt, {4, 0, inf, -1}, {0.5f, inf, 0, qnan}},
      {OpCode::floor, {1.5f, -1.5f, -0.0f, inf, qnan}, {1, -2, -0.0f, inf, qnan}},
  };
  for (const FloatUnary& row : table) {
    CAPTURE(info(row.code).name);
    check_floats(run(row.code, DType::f32, floats(row.in)), row.out);
  }
}

TEST_CASE("float operations of two operands have their values at the edges") {
  const std::vector<FloatBinary> table = {
      {OpCode::add, {1, inf, inf}, {2, 1, -inf}, {3, inf, qnan}},
      {OpCode::sub, {1, inf, -inf}, {2, inf, 1}, {-1, qnan, -inf}},
      {OpCode::mul, {3, 0, -2}, {2, inf, 0.0f}, {6, qnan, -0.0f}},
      {OpCode::div, {1, -1, 0, 7}, {0, 0, 0, 2}, {inf, -inf, qnan, 3.5f}},
      {OpCode::min, {1, qnan, 1, qnan, -inf}, {2, 2, qnan, qnan, 5}, {1, 2, 1, qnan, -inf}},
      {OpCode::max, {1, qnan, 1, qnan, -inf}, {2, 2, qnan, qnan, 5}, {2, 2, 1, qnan, 5}},
  };
  for (const FloatBinary& row : table) {
    CAPTURE(info(row.code).name);
    check_floats(run(row.code, DType::f32, floats(row.a), floats(row.b)), row.out);
  }
}

TEST_CASE("i32 wraps, divides to the floor, and gives 0 for a division by zero") {
  const std::vector<IntBinary> table = {
      {OpCode::add, {1, most}, {2, 1}, {3, least}},
      {OpCode::sub, {1, least}, {2, 1}, {-1, most}},
      {OpCode::mul, {-3, 65536, least}, {5, 65536, -1}, {-15, 0, least}},
      {OpCode::div, {7, -7, 7, -7, 6, 5, least, least}, {2, 2, -2, -2, -3, 0, -1, 0}, {3, -4, -4, 3, -2, 0, least, 0}},
      {OpCode::mod, {7, -7, 7, -7, 6, 5, least, least}, {3, 3, -3, -3, -3, 0, -1, 0}, {1, 2, -2, -1, 0, 0, 0, 0}},
      {OpCode::min, {1, least}, {-1, most}, {-1, least}},
      {OpCode::max, {1, least}, {-1, most}, {1, most}},
  };
  for (const IntBinary& row : table) {
    CAPTURE(info(row.code).name);
    check_integers(run(row.code, DType::i32, integers(row.a), integers(row.b)), row.out);
  }
  check_integers(run(OpCode::neg, DType::i32, integers({5, least})), {-5, least});
  check_integers(run(OpCode::abs, DType::i32, integers({-5, least})), {5, least});
}

TEST_CASE("comparisons are ordered, but ne holds for NaN") {
  const Tile a = floats({1, 2, 2, qnan, qnan}), b = floats({2, 1, 2, 1, qnan});
  check_integers(run(OpCode::lt, DType::i1, a, b), {1, 0, 0, 0, 0});
  check_integers(run(OpCode::le, DType::i1, a, b), {1, 0, 1, 0, 0});
  check_integers(run(OpCode::gt, DType::i1, a, b), {0, 1, 0, 0, 0});
  check_integers(run(OpCode::ge, DType::i1, a, b), {0, 1, 1, 0, 0});
  check_integers(run(OpCode::eq, DType::i1, a, b), {0, 0, 1, 0, 0});
  check_integers(run(OpCode::ne, DType::i1, a, b), {1, 1, 0, 1, 1});
  check_integers(run(OpCode::lt, DType::i1, integers({least}), integers({most})), {1});
}

TEST_CASE("logic and selection") {
  const Tile a = integers({0, 0, 1, 1}, kRow, DType::i1), b = integers({0, 1, 0, 1}, kRow, DType::i1);
  check_integers(run(OpCode::logical_and, DType::i1, a, b), {0, 0, 0, 1});
  check_integers(run(OpCode::logical_or, DType::i1, a, b), {0, 1, 1, 1});
  check_integers(run(OpCode::logical_not, DType::i1, a), {1, 1, 0, 0});
  check_floats(run(OpCode::select, DType::f32, a, floats({1, 2, 3, 4}), Tile::number(DType::f32, -inf)),
               {-inf, -inf, 3, 4});
  check_integers(run(OpCode::select, DType::i32, a, integers({1, 2, 3, 4}), integers({5, 6, 7, 8})), {5, 6, 3, 4});
  check_floats(run(OpCode::select, DType::f32, Tile::number(DType::i1, 1), floats({qnan, 2}), floats({5, 6})),
               {qnan, 2});
}

TEST_CASE("casts truncate, saturate and round to nearest even") {
  check_integers(run(OpCode::cast, DType::i32, floats({1.9f, -1.9f, 3e9f, -3e9f, inf, -inf, qnan})),
                 {1, -1, most, least, most, least, 0});
  check_floats(run(OpCode::cast, DType::f32, integers({0, 1}, kRow, DType::i1)), {0, 1});
  check_integers(run(OpCode::cast, DType::i32, integers({0, 1}, kRow, DType::i1)), {0, 1});
  check_floats(run(OpCode::cast, DType::f32, integers({16777217, least})), {16777216.0f, -0x1p31f});
  check_floats(run(OpCode::cast, DType::bf16, floats({1 + 0x1p-8f, 1 + 0x1.8p-7f, 0x1.ffp127f, qnan})),
               {1, 1 + 0x1p-6f, inf, qnan});
  check_floats(run(OpCode::cast, DType::f16, floats({1 + 0x1p-11f, 65519, 65520, 0x1p-25f, 0x1.8p-25f, -0x1p-26f})),
               {1, 65504, inf, 0, 0x1p-24f, -0.0f});
}

TEST_CASE("16-bit results are rounded, fma once") {
  const Tile x = floats({1}, kRow, DType::bf16), y = floats({0x1p-9f}, kRow, DType::bf16);
  check_floats(run(OpCode::add, DType::bf16, x, y), {1});
  const Tile a = floats({1 + 0x1p-12f}), c = floats({-1 - 0x1p-11f});
  check_floats(run(OpCode::fma, DType::f32, a, a, c), {0x1p-24f});
}

TEST_CASE("operands broadcast by the names of their axes") {
  const Tile rows = floats({1, 2, 3}, kRow), columns = floats({10, 20}, kColumn);
  const Tile sum = run(OpCode::add, DType::f32, rows, columns);
  CHECK(sum.dims() == std::vector<Dim>{{kRow, 3}, {kColumn, 2}});
  check_floats(sum, {11, 21, 12, 22, 13, 23});
  const Tile flipped = sum.repeated({{kColumn, 2}, {kRow, 3}});
  check_floats(run(OpCode::sub, DType::f32, flipped, rows), {10, 10, 10, 20, 20, 20});
  check_floats(run(OpCode::sub, DType::f32, rows, flipped), {-10, -20, -10, -20, -10, -20});
  check_floats(run(OpCode::mul, DType::f32, sum, Tile::number(DType::f32, 2)), {22, 42, 24, 44, 26, 46});
  CHECK(run(OpCode::add, DType::f32, floats({}), columns).elements() == 0);
}

TEST_CASE("every 16-bit pattern survives a load and a store") {
  for (DType dtype : {DType::f16, DType::bf16}) {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      const auto in = static_cast<std::uint16_t>(bits);
      std::uint16_t out = 0;
      const float value = load_element(&in, dtype, 0);
      store_element(&out, dtype, 0, value);
      if (std::isnan(value)) {
        if (!std::isnan(load_element(&out, dtype, 0))) FAIL(bits);
      } else if (in != out || round_to(dtype, value) != value) {
        FAIL(bits);
      }
    }
  }
}

TEST_CASE("rounding goes to the nearest neighbour, and to the even one from half way") {
  const auto round = [](DType dtype, float x) {
    std::uint16_t bits = 0;
    store_element(&bits, dtype, 0, x);
    return bits;
  };
  for (DType dtype : {DType::f16, DType::bf16}) {
    const std::uint16_t last = dtype == DType::f16 ? 0x7bff : 0x7f7f;
    for (std::uint16_t low = 0; low < last; ++low) {
      const std::uint16_t high = static_cast<std::uint16_t>(low + 1);
      const double a = load_element(&low, dtype, 0), b = load_element(&high, dtype, 0);
      const auto middle = static_cast<float>((a + b) / 2);  // exact: one bit more than 16-bit floats have
      const bool right =
          round(dtype, middle) == (low % 2 ? high : low) && round(dtype, std::nextafter(middle, -inf)) == low &&
          round(dtype, std::nextafter(middle, inf)) == high && round(dtype, -middle) == (0x8000 | round(dtype, middle));
      if (!right) FAIL(low);
    }
  }
}

TEST_CASE("reductions, and what they give for no elements") {
  Tile tile = run(OpCode::add, DType::f32, floats({1, 2, 3}, kRow), floats({10, 20}, kColumn));
  check_floats(reduce(OpCode::reduce_sum, tile, kColumn), {32, 34, 36});
  check_floats(reduce(OpCode::reduce_max, tile, kRow), {13, 23});
  check_floats(reduce(OpCode::reduce_min, tile, kRow), {11, 21});
  check_floats(reduce(OpCode::reduce_max, floats({qnan, 2, qnan}), kRow), {2});
  check_integers(reduce(OpCode::reduce_sum, integers({most, 1}), kRow), {least});
  check_integers(reduce(OpCode::reduce_max, integers({-5, -7}), kRow), {-5});
  check_integers(reduce(OpCode::reduce_any, integers({0, 1, 0}, kRow, DType::i1), kRow), {1});
  check_integers(reduce(OpCode::reduce_all, integers({1, 1, 0}, kRow, DType::i1), kRow), {0});
  check_floats(reduce(OpCode::reduce_max, floats({}), kRow), {-inf});
  check_floats(reduce(OpCode::reduce_min, floats({}), kRow), {inf});
  check_floats(reduce(OpCode::reduce_sum, floats({}), kRow), {0});
  check_integers(reduce(OpCode::reduce_any, integers({}, kRow, DType::i1), kRow), {0});
  check_integers(reduce(OpCode::reduce_all, integers({}, kRow, DType::i1), kRow), {1});
  check_floats(reduce(OpCode::reduce_sum, Tile::number(DType::f32, 0.5, {{kRow, 1000}}), kRow), {500});
}

TEST_CASE("a product is the same whatever the order of the operands' axes") {
  const int m = 7, n = 37, k = 19;
  const Axis inner = Axis::named("Inner");
  Tile a(DType::f32, {{kRow, m}, {inner, k}}), b(DType::f32, {{inner, k}, {kColumn, n}});
  for (int i = 0; i < m * k; ++i) a.data<float>()[i] = static_cast<float>(i % 13 - 6);
  for (int i = 0; i < n * k; ++i) b.data<float>()[i] = static_cast<float>(i % 11 - 5);
  std::vector<float> wanted(static_cast<std::size_t>(m * n), 0);
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      for (int l = 0; l < k; ++l) {
        wanted[static_cast<std::size_t>(i * n + j)] += a.data<float>()[i * k + l] * b.data<float>()[l * n + j];
      }
    }
  }
  for (float& x : wanted) x += 0.0f;  // the sums start at +0
  check_floats(dot(a, b, inner, nullptr), wanted);
  const Tile a2 = a.packed({{inner, k}, {kRow, m}}), b2 = b.packed({{kColumn, n}, {inner, k}});
  check_floats(dot(a2, b2, inner, nullptr), wanted);
  const Tile ones = Tile::number(DType::f32, 1, {{kColumn, n}, {kRow, m}});
  for (float& x : wanted) x += 1;
  check_floats(dot(a, b2, inner, &ones), wanted);
  check_floats(dot(floats({1, 2, 3}), floats({4, 5, 6}), kRow, nullptr), {32});
}
