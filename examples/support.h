// What the lessons need beside Tessera: bf16 tensors in host memory, filled with numbers, and attention by its
// definition in fp64 to compare results with.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <stdexcept>
#include <vector>

#include <tessera/attention.h>

namespace example {

inline double from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
inline std::uint16_t to_bf16(float x) {  // to nearest, ties to even; no NaNs here
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// [heads, tokens, dim], contiguous.
struct Tensor {
  std::int64_t heads, tokens, dim;
  std::vector<std::uint16_t> bits;

  Tensor(std::int64_t h, std::int64_t n, std::int64_t d)
      : heads(h), tokens(n), dim(d), bits(static_cast<std::size_t>(h * n * d)) {}
  static Tensor random(std::int64_t heads, std::int64_t tokens, std::int64_t dim, unsigned seed) {
    Tensor tensor(heads, tokens, dim);
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    for (auto& element : tensor.bits) element = to_bf16(normal(engine));
    return tensor;
  }

  tessera::View view() { return tessera::View::contiguous(bits.data(), tessera::bf16, {1, heads, tokens, dim}); }
  std::vector<double> row(std::int64_t head, std::int64_t token) const {
    std::vector<double> values(static_cast<std::size_t>(dim));
    const auto first = bits.begin() + (head * tokens + token) * dim;
    std::transform(first, first + dim, values.begin(), from_bf16);
    return values;
  }
};

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

using Allowed = std::function<bool(std::int64_t query, std::int64_t key)>;

// The score of a query and a key from their product q.k.
using Scored = std::function<double(double product, std::int64_t query, std::int64_t key)>;

struct Row {
  std::vector<double> out;
  double lse;
};

// One row of softmax(scores) V over the keys that are allowed, and its log-sum-exp; zeros and -inf when there are none.
inline Row scored_row(const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t head, std::int64_t query,
                      const Allowed& allowed, const Scored& scored) {
  const std::int64_t kv_head = head / (q.heads / k.heads);
  const auto q_row = q.row(head, query);
  std::vector<double> out(static_cast<std::size_t>(v.dim), 0.0), scores(static_cast<std::size_t>(k.tokens), -INFINITY);
  for (std::int64_t key = 0; key < k.tokens; ++key) {
    if (allowed(query, key)) scores[key] = scored(dot(q_row, k.row(kv_head, key)), query, key);
  }
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (std::int64_t key = 0; key < k.tokens; ++key) {
    if (scores[key] == -INFINITY) continue;
    const double weight = std::exp(scores[key] - largest);
    const auto v_row = v.row(kv_head, key);
    for (std::int64_t d = 0; d < v.dim; ++d) out[d] += weight * v_row[d];
    sum += weight;
  }
  for (double& x : out) x = sum > 0 ? x / sum : 0;
  return {out, largest + std::log(sum)};
}

// With the usual scores, q.k / sqrt(dim).
inline std::vector<double> attention_row(const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t head,
                                         std::int64_t query, const Allowed& allowed) {
  const double scale = 1 / std::sqrt(static_cast<double>(q.dim));
  return scored_row(q, k, v, head, query, allowed, [&](double product, auto, auto) { return scale * product; }).out;
}

// Largest |O - exact| over every `step`-th query of every head.
inline double largest_error(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o, const Allowed& allowed,
                            std::int64_t step = 1) {
  double error = 0;
  for (std::int64_t head = 0; head < q.heads; ++head) {
    for (std::int64_t query = 0; query < q.tokens; query += step) {
      const auto exact = attention_row(q, k, v, head, query, allowed), got = o.row(head, query);
      for (std::size_t d = 0; d < exact.size(); ++d) {
        if (!(std::abs(got[d] - exact[d]) <= error)) error = std::abs(got[d] - exact[d]);  // a NaN stays
      }
    }
  }
  return error;
}

// The lessons are tests: what they claim, they check.
inline void check(bool condition, const char* claim) {
  if (!condition) throw std::runtime_error(std::string("this does not hold: ") + claim);
}

}  // namespace example
