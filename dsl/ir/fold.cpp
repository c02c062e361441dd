#include <tessera/dsl/ir/fold.h>

#include <charconv>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include <tessera/dsl/ir/interpret_number.h>

namespace tessera::ir {

namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

std::optional<double> fold_i32(OpCode code, std::int64_t a, std::int64_t b) {
  switch (code) {
    case OpCode::neg: return wrap(-a);
    case OpCode::abs: return wrap(std::llabs(a));
    case OpCode::add: return wrap(a + b);
    case OpCode::sub: return wrap(a - b);
    case OpCode::mul: return wrap(a * b);
    case OpCode::div: return b == 0 ? 0 : wrap(floor_div(a, b));
    case OpCode::mod: return b == 0 ? 0 : wrap(a - floor_div(a, b) * b);
    case OpCode::min: return static_cast<double>(std::min(a, b));
    case OpCode::max: return static_cast<double>(std::max(a, b));
    default: return std::nullopt;
  }
}

std::optional<float> fold_float(OpCode code, float a, float b) {
  switch (code) {
    case OpCode::neg: return -a;
    case OpCode::abs: return std::fabs(a);
    case OpCode::exp: return std::exp(a);
    case OpCode::exp2: return std::exp2(a);
    case OpCode::log: return std::log(a);
    case OpCode::log2: return std::log2(a);
    case OpCode::tanh: return std::tanh(a);
    case OpCode::sqrt: return std::sqrt(a);
    case OpCode::rsqrt: return 1.0f / std::sqrt(a);
    case OpCode::floor: return std::floor(a);
    case OpCode::add: return a + b;
    case OpCode::sub: return a - b;
    case OpCode::mul: return a * b;
    case OpCode::div: return a / b;
    case OpCode::min: return a < b || std::isnan(b) ? a : b;
    case OpCode::max: return a > b || std::isnan(b) ? a : b;
    default: return std::nullopt;
  }
}

std::optional<double> fold_compare(OpCode code, double a, double b) {
  switch (code) {
    case OpCode::lt: return a < b;
    case OpCode::le: return a <= b;
    case OpCode::gt: return a > b;
    case OpCode::ge: return a >= b;
    case OpCode::eq: return a == b;
    case OpCode::ne: return a != b;
    default: return std::nullopt;
  }
}

std::optional<double> fold_logic(OpCode code, bool a, bool b) {
  switch (code) {
    case OpCode::logical_not: return !a;
    case OpCode::logical_and: return a && b;
    case OpCode::logical_or: return a || b;
    default: return std::nullopt;
  }
}

std::optional<double> fold_cast(DType from, DType to, double x) {
  if (to == from) return x;
  if (to == DType::i1) return std::nullopt;
  if (to == DType::i32) {
    if (from == DType::i1) return x;
    double whole = std::trunc(x);
    if (!(whole >= -2147483648.0 && whole <= 2147483647.0)) return std::nullopt;
    return whole;
  }
  return shortest(to, x);
}

}  // namespace

double round_to(DType t, double x) {
  switch (t) {
    case DType::i1: return x != 0;
    case DType::i32: return x;
    case DType::f16:
    case DType::bf16:
    case DType::f32: return interp::round_to(t, static_cast<float>(x));
  }
  throw InternalError("unknown dtype");
}

double shortest(DType t, double x) {
  double rounded = round_to(t, x);
  if (!is_float(t) || !std::isfinite(rounded)) return rounded;
  for (int digits = 1; digits <= 9; ++digits) {
    const std::string text = fmt::format("{:.{}g}", rounded, digits);
    double candidate = 0;
    std::from_chars(text.data(), text.data() + text.size(), candidate);
    if (round_to(t, candidate) == rounded) return candidate;
  }
  return rounded;
}

std::int32_t wrap(std::int64_t x) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(x)); }

std::optional<double> fold(OpCode code, DType operand, DType result, std::span<const double> x) {
  if (code == OpCode::select) return x[0] != 0 ? x[1] : x[2];
  if (code == OpCode::cast) return fold_cast(operand, result, round_to(operand, x[0]));
  if (!is_elementwise(code)) return std::nullopt;
  double a = round_to(operand, x[0]);
  double b = x.size() > 1 ? round_to(operand, x[1]) : 0;
  if (info(code).kind == OpKind::compare) return fold_compare(code, a, b);
  if (operand == DType::i1) return fold_logic(code, a != 0, b != 0);
  if (code == OpCode::fma) {
    double c = round_to(operand, x[2]);
    if (operand == DType::i32)
      return wrap(static_cast<std::int64_t>(a) * static_cast<std::int64_t>(b) + static_cast<std::int64_t>(c));
    return shortest(operand, std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)));
  }
  if (operand == DType::i32) return fold_i32(code, static_cast<std::int64_t>(a), static_cast<std::int64_t>(b));
  std::optional<float> value = fold_float(code, static_cast<float>(a), static_cast<float>(b));
  if (!value) return std::nullopt;
  return shortest(operand, *value);
}

}  // namespace tessera::ir
