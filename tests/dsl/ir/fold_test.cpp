#include <tessera/dsl/ir/fold.h>

#include <cmath>
#include <limits>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace tessera;
using namespace tessera::ir;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

std::optional<double> fold2(OpCode code, DType t, double a, double b) {
  double x[] = {a, b};
  return fold(code, t, t, x);
}
double i32(OpCode code, double a, double b = 0) { return fold2(code, DType::i32, a, b).value(); }
double f32(OpCode code, double a, double b = 0) { return fold2(code, DType::f32, a, b).value(); }
std::optional<double> cast(DType from, DType to, double a) { return fold(OpCode::cast, from, to, {&a, 1}); }

}  // namespace

TEST_CASE("i32 division floors, and by zero gives zero") {
  CHECK(i32(OpCode::div, 7, 2) == 3);
  CHECK(i32(OpCode::div, -7, 2) == -4);
  CHECK(i32(OpCode::div, 7, -2) == -4);
  CHECK(i32(OpCode::div, -8, 2) == -4);
  CHECK(i32(OpCode::div, 7, 0) == 0);
  CHECK(i32(OpCode::mod, -7, 3) == 2);
  CHECK(i32(OpCode::mod, 7, -3) == -2);
  CHECK(i32(OpCode::mod, -6, 3) == 0);
  CHECK(i32(OpCode::mod, 5, 0) == 0);
}

TEST_CASE("i32 wraps") {
  CHECK(i32(OpCode::add, 2147483647, 1) == -2147483648.0);
  CHECK(i32(OpCode::sub, -2147483648.0, 1) == 2147483647);
  CHECK(i32(OpCode::mul, 65536, 65536) == 0);
  CHECK(i32(OpCode::mul, 2147483647, 2147483647) == 1);
  CHECK(i32(OpCode::neg, -2147483648.0) == -2147483648.0);
  CHECK(i32(OpCode::abs, -2147483648.0) == -2147483648.0);
  CHECK(i32(OpCode::div, -2147483648.0, -1) == -2147483648.0);
  CHECK(wrap(std::int64_t{1} << 32) == 0);
}

TEST_CASE("floats are computed in f32 and rounded to their dtype") {
  CHECK(round_to(DType::f32, f32(OpCode::add, 16777216, 1)) == 16777216);
  CHECK(fold2(OpCode::add, DType::bf16, 256, 1) == 256.0);
  CHECK(fold2(OpCode::add, DType::bf16, 256, 3) == 260.0);
  CHECK(fold2(OpCode::mul, DType::f16, 300, 300) == kInf);
  CHECK(f32(OpCode::div, 1, 0) == kInf);
  CHECK(std::isnan(f32(OpCode::sub, kInf, kInf)));
  CHECK(f32(OpCode::exp2, -kInf) == 0);
  CHECK(f32(OpCode::rsqrt, 4) == 0.5);
  CHECK(f32(OpCode::floor, -1.5) == -2);
}

TEST_CASE("min and max prefer the number to NaN") {
  CHECK(f32(OpCode::max, kNan, -kInf) == -kInf);
  CHECK(f32(OpCode::min, 3, kNan) == 3);
  CHECK(std::isnan(f32(OpCode::max, kNan, kNan)));
}

TEST_CASE("comparisons are ordered, and ne is the opposite of eq") {
  for (OpCode code : {OpCode::lt, OpCode::le, OpCode::gt, OpCode::ge, OpCode::eq}) CHECK(f32(code, kNan, 1) == 0);
  CHECK(f32(OpCode::ne, kNan, kNan) == 1);
  CHECK(i32(OpCode::le, 3, 3) == 1);
  CHECK(fold2(OpCode::eq, DType::bf16, 256, 257) == 1.0);
}

TEST_CASE("f16 and bf16 round to nearest even, with subnormals") {
  CHECK(round_to(DType::bf16, 1.00390625) == 1.0);
  CHECK(round_to(DType::bf16, 1.01171875) == 1.015625);
  CHECK(round_to(DType::f16, 1.00048828125) == 1.0);
  CHECK(round_to(DType::f16, 1.00146484375) == 1.001953125);
  CHECK(round_to(DType::f16, 65519.9) == 65504);
  CHECK(round_to(DType::f16, 65520) == kInf);
  CHECK(round_to(DType::f16, 0x1p-25) == 0);
  CHECK(round_to(DType::f16, 0x1.8p-25) == 0x1p-24);
  CHECK(round_to(DType::f16, 0x1.8p-24) == 0x1p-23);
  CHECK(round_to(DType::f16, -0x1p-24) == -0x1p-24);
  CHECK(round_to(DType::bf16, 3.4e38) == kInf);
}

TEST_CASE("casts truncate, and leave open what the language leaves open") {
  CHECK(cast(DType::f32, DType::i32, -1.9) == -1.0);
  CHECK(cast(DType::f32, DType::i32, 1.9) == 1.0);
  CHECK_FALSE(cast(DType::f32, DType::i32, 3e9));
  CHECK_FALSE(cast(DType::f32, DType::i32, kNan));
  CHECK(cast(DType::i1, DType::f32, 1) == 1.0);
  CHECK(cast(DType::i32, DType::f32, 16777217) == 16777216.0);
  CHECK(cast(DType::f32, DType::bf16, 257) == 256.0);
}

TEST_CASE("selects and fused products") {
  double select[] = {0, 1, 2};
  CHECK(fold(OpCode::select, DType::f32, DType::f32, select) == 2.0);
  double fused[] = {16777217, 1, 1};  // the first operand is rounded to f32, the sum only once
  CHECK(fold(OpCode::fma, DType::f32, DType::f32, fused) == 16777216.0);
  double exact[] = {4097, 4097, -16777216};
  CHECK(fold(OpCode::fma, DType::f32, DType::f32, exact) == 8193.0);
  CHECK_FALSE(fold(OpCode::reduce_sum, DType::f32, DType::f32, {exact, 1}));
}

TEST_CASE("values are what the interpreter computes, where a constant is left open too") {
  const auto to_i32 = [](double x) { return evaluate(OpCode::cast, DType::f32, DType::i32, x); };
  CHECK(to_i32(3e9) == 2147483647);
  CHECK(to_i32(-3e9) == -2147483648.0);
  CHECK(to_i32(kNan) == 0);
  CHECK(to_i32(-1.9) == -1);
  CHECK(evaluate(OpCode::cast, DType::f32, DType::i1, kNan) == 1);
  CHECK(evaluate(OpCode::div, DType::i32, DType::i32, -7, 2) == -4);
  CHECK(evaluate(OpCode::fma, DType::f32, DType::f32, 4097, 4097, -16777216) == 8193);
  CHECK(evaluate(OpCode::add, DType::f32, DType::f32, 0.1, 0) == 0.1f);  // not the shortest text
  CHECK(evaluate(OpCode::select, DType::i32, DType::i32, 0, 1, 2) == 2);
  CHECK(evaluate(OpCode::logical_or, DType::i1, DType::i1, 0, 1) == 1);
  CHECK_THROWS_AS(evaluate(OpCode::sqrt, DType::i32, DType::i32, 4), InternalError);
  CHECK_THROWS_AS(evaluate(OpCode::load, DType::f32, DType::f32, 4), InternalError);
}

TEST_CASE("floor division is the floor of the quotient, at the ends of i32 too") {
  const std::int64_t numbers[] = {-2147483648, -2147483647, -9, -8, -1, 0, 1, 7, 8, 9, 2147483646, 2147483647};
  for (const std::int64_t a : numbers)
    for (const std::int64_t b : numbers) {
      CAPTURE(a);
      CAPTURE(b);
      const double x = static_cast<double>(a), y = static_cast<double>(b);
      if (b == 0) {
        CHECK(i32(OpCode::div, x, y) == 0);
        CHECK(i32(OpCode::mod, x, y) == 0);
        continue;
      }
      const double quotient =
          std::floor(x / y);  // exact: neighbouring quotients are farther apart than a double rounds
      CHECK(floor_div(a, b) == static_cast<std::int64_t>(quotient));
      CHECK(floor_mod(a, b) == a - floor_div(a, b) * b);
      CHECK(i32(OpCode::div, x, y) == wrap(floor_div(a, b)));
      CHECK(i32(OpCode::mod, x, y) == wrap(floor_mod(a, b)));
    }
}

TEST_CASE("constants are spelled by the shortest text of their dtype") {
  CHECK(fmt::format("{}", shortest(DType::f32, 0.1f)) == "0.1");
  CHECK(fmt::format("{}", shortest(DType::f32, 1.4426950408889634)) == "1.442695");
  CHECK(fmt::format("{}", shortest(DType::f32, -1e30)) == "-1e+30");
  CHECK(fmt::format("{}", shortest(DType::bf16, 0.2)) == "0.2");
  CHECK(shortest(DType::f32, -kInf) == -kInf);
  CHECK(shortest(DType::i32, 16777217) == 16777217);
}
