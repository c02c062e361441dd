#include "support/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <tessera/dsl/ir/interpret.h>

namespace tessera::test {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double rounded(double value, DType dtype) {
  float out = 0;
  ir::store_element(&out, dtype, 0, static_cast<float>(value));
  return ir::load_element(&out, dtype, 0);
}

double rounded_to(double value, DType storage) { return storage == DType::f32 ? value : rounded(value, storage); }

// The tensors of a problem, packed, and its sizes.
struct Packed {
  explicit Packed(const Problem& p)
      : q(p.q->values()),
        k(p.k->values()),
        v(p.v->values()),
        batch(p.q->shape()[0]),
        heads(p.q->shape()[1]),
        rows(p.q->shape()[2]),
        keys(p.k->shape()[2]),
        depth(p.q->shape()[3]),
        value_depth(p.v->shape()[3]),
        kv_heads(p.k->shape()[1]) {}

  std::vector<double> q, k, v;
  std::int64_t batch, heads, rows, keys, depth, value_depth, kv_heads;
};

// One row of attention in arithmetic `Real`. `storage` is the type probabilities and outputs are rounded to; f32: not.
template <class Real>
void attend_row(const Problem& p, const Packed& t, Pair at, DType storage, double* o, double* lse) {
  std::int64_t keys = p.key_length(at.batch), kv = at.batch * t.kv_heads + at.head / (t.heads / t.kv_heads);
  const double* query = t.q.data() + ((at.batch * t.heads + at.head) * t.rows + at.q) * t.depth;
  std::vector<Real> scores(static_cast<std::size_t>(keys), -static_cast<Real>(kInfinity));
  Real top = -static_cast<Real>(kInfinity);
  for (at.k = 0; at.k < keys; ++at.k) {
    if (!p.allowed(at)) continue;
    const double* key = t.k.data() + (kv * t.keys + at.k) * t.depth;
    Real sum = 0;
    for (std::int64_t d = 0; d < t.depth; ++d) sum += static_cast<Real>(query[d]) * static_cast<Real>(key[d]);
    Real score = static_cast<Real>(p.score(at, sum * static_cast<Real>(p.scale)));
    scores[static_cast<std::size_t>(at.k)] = score;
    top = std::max(top, score);
  }
  std::fill(o, o + t.value_depth, 0.0);
  *lse = -kInfinity;
  if (std::isinf(static_cast<double>(top)) && top < 0) return;

  std::vector<Real> out(static_cast<std::size_t>(t.value_depth), 0);
  Real total = 0;
  for (std::int64_t k = 0; k < keys; ++k) {
    Real weight = std::exp(scores[static_cast<std::size_t>(k)] - top);
    total += weight;
    if (storage != DType::f32) weight = static_cast<Real>(rounded(weight, storage));
    if (weight == 0) continue;  // what a masked key holds does not matter, not even a NaN
    const double* value = t.v.data() + (kv * t.keys + k) * t.value_depth;
    for (std::size_t d = 0; d < out.size(); ++d) out[d] += weight * static_cast<Real>(value[d]);
  }
  for (std::size_t d = 0; d < out.size(); ++d) o[d] = rounded_to(out[d] / total, storage);
  // In the storage type the LSE is an f32: near -1000, one that is right is 3e-5 off.
  *lse = static_cast<double>(storage == DType::f32 ? top + std::log(total)
                                                   : static_cast<Real>(static_cast<float>(top + std::log(total))));
}

template <class Real>
Result attend(const Problem& p, DType storage) {
  Packed t(p);
  Result result{std::vector<double>(static_cast<std::size_t>(t.batch * t.heads * t.rows * t.value_depth)),
                std::vector<double>(static_cast<std::size_t>(t.batch * t.heads * t.rows))};
  for (std::int64_t row = 0; row < t.batch * t.heads * t.rows; ++row) {
    Pair at{row / (t.heads * t.rows), row / t.rows % t.heads, row % t.rows, 0};
    attend_row<Real>(p, t, at, storage, result.o.data() + row * t.value_depth, result.lse.data() + row);
  }
  return result;
}

}  // namespace

std::int64_t Problem::key_length(std::int64_t batch) const {
  return key_lengths.empty() ? k->shape()[2] : key_lengths[static_cast<std::size_t>(batch)];
}

Result attention_fp64(const Problem& problem) { return attend<double>(problem, DType::f32); }

Result attention_in_storage_type(const Problem& problem) { return attend<float>(problem, problem.q->dtype()); }

double max_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return kInfinity;
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    double d = std::abs(a[i] - b[i]);
    worst = std::max(worst, std::isnan(d) ? kInfinity : d);
  }
  return worst;
}

Tolerance tolerance(const Problem& problem, const Result& exact) {
  Result stored = attention_in_storage_type(problem);
  double largest = 0;
  for (double o : exact.o) largest = std::max(largest, std::abs(o));
  const double once_more = problem.chained ? largest * std::ldexp(1, problem.q->dtype() == DType::bf16 ? -8 : -11) : 0;
  return {2 * max_difference(stored.o, exact.o) + 1e-5 + once_more, 2 * max_difference(stored.lse, exact.lse) + 1e-5};
}

}  // namespace tessera::test
