#include <cmath>
#include <limits>

#include <tessera/dsl/ir/arithmetic.h>
#include <tessera/dsl/ir/interpret_elementwise.h>
#include <tessera/dsl/ir/interpret_nest.h>
#include <tessera/dsl/ir/interpret_number.h>

namespace tessera::ir::interp {
namespace {

using Operands = std::span<const Tile* const>;
using Int = std::int32_t;
using namespace number;

void round_all(Tile& tile) {
  float* x = tile.data<float>();
  const std::int64_t n = tile.elements();
  if (tile.dtype() == DType::bf16) {
    for (std::int64_t i = 0; i < n; ++i) x[i] = round_bf16(x[i]);
  } else if (tile.dtype() == DType::f16) {
    for (std::int64_t i = 0; i < n; ++i) x[i] = round_f16(x[i]);
  }
}

template <class R, class A, class F>
Tile map1(DType result, const Tile& a, F f) {
  Tile out(result, a.dims());
  for_rows(make_nest<2>(a.dims(), {&out, &a}), [&](const auto& at, const auto& step, std::int64_t n) {
    R* __restrict to = out.data<R>() + at[0];
    const A* from = a.data<A>() + at[1];
    if (step[1] == 1) {
      for (std::int64_t j = 0; j < n; ++j) to[j] = f(from[j]);
    } else {
      for (std::int64_t j = 0; j < n; ++j) to[j] = f(from[j * step[1]]);
    }
  });
  if (is_float(result)) round_all(out);
  return out;
}

template <class R, class A, class F>
Tile map2(DType result, const Tile& a, const Tile& b, F f) {
  Tile out(result, broadcast_dims(a.dims(), b.dims()));
  for_rows(make_nest<3>(out.dims(), {&out, &a, &b}), [&](const auto& at, const auto& step, std::int64_t n) {
    R* __restrict to = out.data<R>() + at[0];
    const A* x = a.data<A>() + at[1];
    const A* y = b.data<A>() + at[2];
    if (step[1] == 1 && step[2] == 1) {
      for (std::int64_t j = 0; j < n; ++j) to[j] = f(x[j], y[j]);
    } else if (step[1] == 1 && step[2] == 0) {
      const A one = *y;
      for (std::int64_t j = 0; j < n; ++j) to[j] = f(x[j], one);
    } else if (step[1] == 0 && step[2] == 1) {
      const A one = *x;
      for (std::int64_t j = 0; j < n; ++j) to[j] = f(one, y[j]);
    } else {
      for (std::int64_t j = 0; j < n; ++j) to[j] = f(x[j * step[1]], y[j * step[2]]);
    }
  });
  if (is_float(result)) round_all(out);
  return out;
}

template <class T>
Tile select(DType result, const Tile& condition, const Tile& a, const Tile& b) {
  Tile out(result, broadcast_dims(broadcast_dims(condition.dims(), a.dims()), b.dims()));
  const auto nest = make_nest<4>(out.dims(), {&out, &condition, &a, &b});
  for_rows(nest, [&](const auto& at, const auto& step, std::int64_t n) {
    T* __restrict to = out.data<T>() + at[0];
    const Int* c = condition.data<Int>() + at[1];
    const T* x = a.data<T>() + at[2];
    const T* y = b.data<T>() + at[3];
    if (step[1] == 1 && step[2] == 1 && step[3] == 0) {  // masking: where(allowed, scores, -inf)
      const T one = *y;
      for (std::int64_t j = 0; j < n; ++j) to[j] = c[j] ? x[j] : one;
    } else if (step[1] == 1 && step[2] == 1 && step[3] == 1) {
      for (std::int64_t j = 0; j < n; ++j) to[j] = c[j] ? x[j] : y[j];
    } else {
      for (std::int64_t j = 0; j < n; ++j) to[j] = c[j * step[1]] ? x[j * step[2]] : y[j * step[3]];
    }
  });
  return out;
}

Tile fused(DType result, const Tile& a, const Tile& b, const Tile& c) {
  Tile out(result, broadcast_dims(broadcast_dims(a.dims(), b.dims()), c.dims()));
  const auto nest = make_nest<4>(out.dims(), {&out, &a, &b, &c});
  for_rows(nest, [&](const auto& at, const auto& step, std::int64_t n) {
    float* __restrict to = out.data<float>() + at[0];
    const float *x = a.data<float>() + at[1], *y = b.data<float>() + at[2], *z = c.data<float>() + at[3];
    for (std::int64_t j = 0; j < n; ++j) to[j] = std::fma(x[j * step[1]], y[j * step[2]], z[j * step[3]]);
  });
  round_all(out);
  return out;
}

Tile cast(DType to, const Tile& a) {
  if (a.holds_floats()) {
    if (is_float(to)) return map1<float, float>(to, a, [](float x) { return x; });
    if (to == DType::i32) return map1<Int, float>(to, a, truncate);
    return map1<Int, float>(to, a, [](float x) { return static_cast<Int>(x != 0); });
  }
  if (is_float(to)) return map1<float, Int>(to, a, [](Int x) { return static_cast<float>(x); });
  if (to == DType::i1) return map1<Int, Int>(to, a, [](Int x) { return static_cast<Int>(x != 0); });
  return map1<Int, Int>(to, a, [](Int x) { return x; });
}

void require(bool condition, OpCode code, const Tile& a) {
  if (!condition) {
    throw InternalError("op '" + std::string(info(code).name) + "' on a tile of " + std::string(name_of(a.dtype())));
  }
}

// Operations for numbers of any dtype, for floats, for i32, for i1, and comparisons of numbers.
template <class F>
Tile numbers(OpCode code, Operands x, F f) {
  const Tile& a = *x[0];
  require(a.dtype() != DType::i1, code, a);
  if (x.size() == 1) {
    if constexpr (std::is_invocable_v<F, float>) {
      return a.holds_floats() ? map1<float, float>(a.dtype(), a, f) : map1<Int, Int>(a.dtype(), a, f);
    }
  }
  if constexpr (std::is_invocable_v<F, float, float>) {
    require(x[1]->dtype() == a.dtype(), code, *x[1]);
    return a.holds_floats() ? map2<float, float>(a.dtype(), a, *x[1], f) : map2<Int, Int>(a.dtype(), a, *x[1], f);
  }
  throw InternalError("op '" + std::string(info(code).name) + "' has too few operands");
}

template <class F>
Tile floats(OpCode code, Operands x, F f) {
  require(x[0]->holds_floats(), code, *x[0]);
  return map1<float, float>(x[0]->dtype(), *x[0], f);
}

template <class F>
Tile truths(OpCode code, Operands x, F f) {
  for (const Tile* operand : x) require(operand->dtype() == DType::i1, code, *operand);
  return map2<Int, Int>(DType::i1, *x[0], *x[1], f);
}

template <class F>
Tile compare(OpCode code, Operands x, F f) {
  require(x[1]->dtype() == x[0]->dtype(), code, *x[1]);
  const auto truth = [f](auto a, auto b) { return static_cast<Int>(f(a, b)); };
  return x[0]->holds_floats() ? map2<Int, float>(DType::i1, *x[0], *x[1], truth)
                              : map2<Int, Int>(DType::i1, *x[0], *x[1], truth);
}

}  // namespace

Tile elementwise(OpCode code, DType result, Operands x) {
  switch (code) {
    case OpCode::neg: return numbers(code, x, negate);
    case OpCode::abs: return numbers(code, x, absolute);
    case OpCode::logical_not: return map1<Int, Int>(DType::i1, *x[0], [](Int a) { return a ^ 1; });
    case OpCode::exp: return floats(code, x, [](float a) { return std::exp(a); });
    case OpCode::exp2: return floats(code, x, [](float a) { return std::exp2(a); });
    case OpCode::log: return floats(code, x, [](float a) { return std::log(a); });
    case OpCode::log2: return floats(code, x, [](float a) { return std::log2(a); });
    case OpCode::tanh: return floats(code, x, [](float a) { return std::tanh(a); });
    case OpCode::sqrt: return floats(code, x, [](float a) { return std::sqrt(a); });
    case OpCode::rsqrt: return floats(code, x, reciprocal_root);
    case OpCode::floor: return floats(code, x, [](float a) { return std::floor(a); });
    case OpCode::cast: return cast(result, *x[0]);
    case OpCode::add: return numbers(code, x, plus);
    case OpCode::sub: return numbers(code, x, minus);
    case OpCode::mul:
    case OpCode::scale: return numbers(code, x, times);
    case OpCode::div: return numbers(code, x, divide);
    case OpCode::mod:
      require(x[0]->dtype() == DType::i32, code, *x[0]);
      return map2<Int, Int>(DType::i32, *x[0], *x[1], modulo);
    case OpCode::min: return numbers(code, x, smaller);
    case OpCode::max: return numbers(code, x, larger);
    case OpCode::logical_and: return truths(code, x, [](Int a, Int b) { return a & b; });
    case OpCode::logical_or: return truths(code, x, [](Int a, Int b) { return a | b; });
    case OpCode::lt: return compare(code, x, [](auto a, auto b) { return a < b; });
    case OpCode::le: return compare(code, x, [](auto a, auto b) { return a <= b; });
    case OpCode::gt: return compare(code, x, [](auto a, auto b) { return a > b; });
    case OpCode::ge: return compare(code, x, [](auto a, auto b) { return a >= b; });
    case OpCode::eq: return compare(code, x, [](auto a, auto b) { return a == b; });
    case OpCode::ne: return compare(code, x, [](auto a, auto b) { return a != b; });
    case OpCode::select:
      require(x[0]->dtype() == DType::i1, code, *x[0]);
      return is_float(result) ? select<float>(result, *x[0], *x[1], *x[2]) : select<Int>(result, *x[0], *x[1], *x[2]);
    case OpCode::fma:
      require(x[0]->holds_floats(), code, *x[0]);
      return fused(result, *x[0], *x[1], *x[2]);

      // Everything that is not elementwise, so that a new row of the op table must be placed here or above.
#define TESSERA_NOT_HERE_leaf(name) case OpCode::name:
#define TESSERA_NOT_HERE_unary(name)
#define TESSERA_NOT_HERE_binary(name)
#define TESSERA_NOT_HERE_compare(name)
#define TESSERA_NOT_HERE_ternary(name)
#define TESSERA_NOT_HERE_reduce(name) case OpCode::name:
#define TESSERA_NOT_HERE_tile(name) case OpCode::name:
#define TESSERA_NOT_HERE_memory(name) case OpCode::name:
#define TESSERA_NOT_HERE_control(name) case OpCode::name:
#define TESSERA_NOT_HERE_placed(name) case OpCode::name:
#define TESSERA_OP(name, operands, kind, stages) TESSERA_NOT_HERE_##kind(name)
#include <tessera/dsl/ir/ops.def>
#undef TESSERA_OP
      break;
  }
  throw InternalError("op '" + std::string(info(code).name) + "' is not elementwise");
}

}  // namespace tessera::ir::interp
