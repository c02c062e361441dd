#include <tessera/dsl/ir/fold.h>

#include <charconv>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include <tessera/dsl/ir/interpret_number.h>

namespace tessera::ir {

namespace {

std::optional<std::int32_t> of_integers(OpCode code, std::int32_t a, std::int32_t b, std::int32_t c) {
  switch (code) {
    case OpCode::neg: return number::negate(a);
    case OpCode::abs: return number::absolute(a);
    case OpCode::add: return number::plus(a, b);
    case OpCode::sub: return number::minus(a, b);
    case OpCode::mul: return number::times(a, b);
    case OpCode::div: return number::divide(a, b);
    case OpCode::mod: return number::modulo(a, b);
    case OpCode::min: return number::smaller(a, b);
    case OpCode::max: return number::larger(a, b);
    case OpCode::fma: return number::plus(number::times(a, b), c);
    default: return std::nullopt;
  }
}

std::optional<float> of_floats(OpCode code, float a, float b, float c) {
  switch (code) {
    case OpCode::neg: return -a;
    case OpCode::abs: return std::fabs(a);
    case OpCode::exp: return std::exp(a);
    case OpCode::exp2: return std::exp2(a);
    case OpCode::log: return std::log(a);
    case OpCode::log2: return std::log2(a);
    case OpCode::tanh: return std::tanh(a);
    case OpCode::sqrt: return std::sqrt(a);
    case OpCode::rsqrt: return number::reciprocal_root(a);
    case OpCode::floor: return std::floor(a);
    case OpCode::add: return a + b;
    case OpCode::sub: return a - b;
    case OpCode::mul: return a * b;
    case OpCode::div: return a / b;
    case OpCode::min: return number::smaller(a, b);
    case OpCode::max: return number::larger(a, b);
    case OpCode::fma: return std::fma(a, b, c);
    default: return std::nullopt;
  }
}

std::optional<double> comparison(OpCode code, double a, double b) {
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

std::optional<double> of_truths(OpCode code, bool a, bool b) {
  switch (code) {
    case OpCode::logical_not: return !a;
    case OpCode::logical_and: return a && b;
    case OpCode::logical_or: return a || b;
    default: return std::nullopt;
  }
}

double cast(DType from, DType to, double x) {
  if (to == DType::i1) return x != 0;
  if (to == DType::i32 && is_float(from)) return interp::truncate(static_cast<float>(x));
  return round_to(to, x);
}

// Nothing for an op that numbers of this dtype do not have.
std::optional<double> value_of(OpCode code, DType operand, DType result, double x, double y, double z) {
  if (code == OpCode::select) return x != 0 ? y : z;
  const double a = round_to(operand, x), b = round_to(operand, y), c = round_to(operand, z);
  if (code == OpCode::cast) return cast(operand, result, a);
  if (info(code).kind == OpKind::compare) return comparison(code, a, b);
  if (operand == DType::i1) return of_truths(code, a != 0, b != 0);
  if (operand == DType::i32)
    return of_integers(code, static_cast<std::int32_t>(a), static_cast<std::int32_t>(b), static_cast<std::int32_t>(c));
  const std::optional<float> value =
      of_floats(code, static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
  if (!value) return std::nullopt;
  return round_to(operand, *value);
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

double evaluate(OpCode code, DType operand, DType result, double a, double b, double c) {
  if (const std::optional<double> value = value_of(code, operand, result, a, b, c)) return *value;
  throw InternalError("no operation on numbers of " + std::string(name_of(operand)) + ": " +
                      std::string(info(code).name));
}

std::optional<double> fold(OpCode code, DType operand, DType result, std::span<const double> x) {
  if (!is_elementwise(code)) return std::nullopt;
  if (code == OpCode::cast && result == DType::i32 && is_float(operand)) {
    const double whole = std::trunc(round_to(operand, x[0]));
    if (!(whole >= -0x1p31 && whole < 0x1p31)) return std::nullopt;
  }
  const std::optional<double> value =
      value_of(code, operand, result, x[0], x.size() > 1 ? x[1] : 0, x.size() > 2 ? x[2] : 0);
  if (!value || code == OpCode::select || info(code).kind == OpKind::compare) return value;
  return shortest(code == OpCode::cast ? result : operand, *value);
}

OpCode mirrored(OpCode code) {
  switch (code) {
    case OpCode::lt: return OpCode::gt;
    case OpCode::le: return OpCode::ge;
    case OpCode::gt: return OpCode::lt;
    case OpCode::ge: return OpCode::le;
    default: return code;
  }
}

}  // namespace tessera::ir
