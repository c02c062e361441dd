#include <algorithm>
#include <limits>

#include <tessera/dsl/ir/interpret_number.h>
#include <tessera/dsl/ir/interpret_tile.h>

namespace tessera::ir::interp {
namespace {

std::vector<Dim> without(const std::vector<Dim>& dims, Axis axis) {
  std::vector<Dim> rest;
  for (const Dim& dim : dims) {
    if (!(dim.axis == axis)) rest.push_back(dim);
  }
  return rest;
}

std::int64_t product(const std::vector<Dim>& dims) {
  std::int64_t n = 1;
  for (const Dim& dim : dims) n *= dim.extent;
  return n;
}

// One row of `n` elements to one. Several partial results, so that neither latency nor rounding adds up along the row.
template <class T, class F>
T fold_row(const T* x, std::int64_t n, T identity, F f) {
  constexpr std::int64_t kLanes = 16;
  T lanes[kLanes];
  std::fill_n(lanes, kLanes, identity);
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t j = 0; j < kLanes; ++j) lanes[j] = f(lanes[j], x[i + j]);
  }
  for (; i < n; ++i) lanes[0] = f(lanes[0], x[i]);
  for (std::int64_t j = 1; j < kLanes; ++j) lanes[0] = f(lanes[0], lanes[j]);
  return lanes[0];
}

template <class T, class F>
Tile fold(const Tile& a, Axis axis, T identity, F f) {
  ensure(a.find(axis), "a reduction runs over an axis its operand lacks");
  const std::vector<Dim> kept = without(a.dims(), axis);
  std::vector<Dim> order = kept;
  order.push_back(*a.find(axis));
  const Tile rows = a.packed(order);
  Tile out(a.dtype(), kept);
  const std::int64_t n = order.back().extent, count = product(kept);
  for (std::int64_t row = 0; row < count; ++row) {
    const T value = fold_row(rows.data<T>() + row * n, n, identity, f);
    if constexpr (std::is_same_v<T, float>) {
      out.data<T>()[row] = round_to(a.dtype(), value);
    } else {
      out.data<T>()[row] = value;
    }
  }
  return out;
}

// Loops over blocks of kRows rows and as many columns as vectors hold. Every element is summed in the order of k
// whatever the blocking, so results do not depend on the machine: no fused multiply-add, wider vectors only do more
// columns at once.
constexpr int kRows = 4, kVector = 8;
using Vector = float __attribute__((vector_size(4 * kVector), aligned(4), may_alias));  // at any float's address

struct Product {
  const float *a, *b;  // [m, k] and [k, n], contiguous
  float* c;            // [m, n], added to
  std::int64_t m, n, k;
};

// C[i ... i + rows) [j ...], the latter as many columns as `vectors` elements of type T have.
template <class T, int rows, int vectors>
[[gnu::always_inline]] inline void block(const Product& p, std::int64_t i, std::int64_t j) {
  T sum[rows][vectors];
  float* const c = p.c + i * p.n + j;
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int s = 0; s < vectors; ++s) sum[r][s] = reinterpret_cast<const T*>(c + r * p.n)[s];
  }
  for (std::int64_t k = 0; k < p.k; ++k) {
    const T* const b = reinterpret_cast<const T*>(p.b + k * p.n + j);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const float a = p.a[(i + r) * p.k + k];
#pragma GCC unroll 4
      for (int s = 0; s < vectors; ++s) sum[r][s] += a * b[s];
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int s = 0; s < vectors; ++s) reinterpret_cast<T*>(c + r * p.n)[s] = sum[r][s];
  }
}

template <class T, int vectors>
[[gnu::always_inline]] inline void columns(const Product& p, std::int64_t j) {
  std::int64_t i = 0;
  for (; i + kRows <= p.m; i += kRows) block<T, kRows, vectors>(p, i, j);
  for (; i < p.m; ++i) block<T, 1, vectors>(p, i, j);
}

[[gnu::always_inline]] inline void multiply_blocks(const Product& p) {
  std::int64_t j = 0;
  for (; j + 2 * kVector <= p.n; j += 2 * kVector) columns<Vector, 2>(p, j);
  for (; j + kVector <= p.n; j += kVector) columns<Vector, 1>(p, j);
  for (; j < p.n; ++j) columns<float, 1>(p, j);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void multiply_wide(const Product& p) { multiply_blocks(p); }
#endif

void multiply(const Product& p) {
#if defined(__x86_64__)
  static const bool wide = __builtin_cpu_supports("avx2");
  if (wide) return multiply_wide(p);
#endif
  multiply_blocks(p);
}

}  // namespace

Tile reduce(OpCode code, const Tile& a, Axis axis) {
  using Int = std::int32_t;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto larger = [](auto x, auto y) { return x > y || y != y ? x : y; };
  const auto smaller = [](auto x, auto y) { return x < y || y != y ? x : y; };
  const auto wrapped_sum = [](Int x, Int y) {
    return static_cast<Int>(static_cast<std::uint32_t>(x) + static_cast<std::uint32_t>(y));
  };
  switch (code) {
    case OpCode::reduce_max:
      return a.holds_floats() ? fold<float>(a, axis, -infinity, larger)
                              : fold<Int>(a, axis, std::numeric_limits<Int>::min(), larger);
    case OpCode::reduce_min:
      return a.holds_floats() ? fold<float>(a, axis, infinity, smaller)
                              : fold<Int>(a, axis, std::numeric_limits<Int>::max(), smaller);
    case OpCode::reduce_sum:
      return a.holds_floats() ? fold<float>(a, axis, 0.0f, [](float x, float y) { return x + y; })
                              : fold<Int>(a, axis, 0, wrapped_sum);
    case OpCode::reduce_any: return fold<Int>(a, axis, 0, [](Int x, Int y) { return x | y; });
    case OpCode::reduce_all: return fold<Int>(a, axis, 1, [](Int x, Int y) { return x & y; });
    default: throw InternalError("op '" + std::string(info(code).name) + "' is not a reduction");
  }
}

Tile partial_sum(const Tile& a, Axis axis, const std::vector<Dim>& dims) {
  const auto at = std::find_if(dims.begin(), dims.end(), [&](const Dim& d) { return d.axis == axis; });
  ensure(at != dims.end() && a.holds_floats(), "partial sums are of floats, along an axis of theirs");
  std::vector<Dim> order = without(dims, axis);
  const std::int64_t rows = product(order), parts = at->extent, n = a.find(axis)->extent;
  order.push_back({axis, static_cast<int>(n)});
  const Tile x = a.packed(order);
  order.back() = *at;
  Tile out(DType::f32, order);
  std::fill_n(out.data<float>(), rows * parts, 0.0f);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < n; ++i) out.data<float>()[r * parts + i % parts] += x.data<float>()[r * n + i];
  return out.packed(dims);
}

Tile dot(const Tile& a, const Tile& b, Axis axis, const Tile* c) {
  const Dim *inner = a.find(axis), *other = b.find(axis);
  ensure(inner && other && inner->extent == other->extent, "dot contracts an axis its operands do not share");
  ensure(a.holds_floats() && b.holds_floats(), "dot multiplies tiles of floats");
  const std::vector<Dim> rows = without(a.dims(), axis), columns = without(b.dims(), axis);
  std::vector<Dim> left = rows, right{*inner}, dims = rows;
  left.push_back(*inner);
  right.insert(right.end(), columns.begin(), columns.end());
  dims.insert(dims.end(), columns.begin(), columns.end());

  const Tile x = a.packed(left), y = b.packed(right);
  Tile out(DType::f32, dims);
  const std::int64_t m = product(rows), n = product(columns);
  if (c) {
    const Tile start = c->packed(dims);
    std::copy_n(start.data<float>(), m * n, out.data<float>());
  } else {
    std::fill_n(out.data<float>(), m * n, 0.0f);
  }
  multiply({x.data<float>(), y.data<float>(), out.data<float>(), m, n, inner->extent});
  return out;
}

}  // namespace tessera::ir::interp
