#include "library/attention_case.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

namespace tessera::test {

namespace {

std::int64_t value_depth(const Case& c) { return c.value_depth == 0 ? c.depth : c.value_depth; }

}  // namespace

Tensors::Tensors(const Case& c, std::uint64_t seed)
    : q(c.dtype, {c.batch, c.heads, c.queries, c.depth}, c.layout),
      k(c.dtype, {c.batch, c.kv_heads, c.keys, c.depth}, c.layout),
      v(c.dtype, {c.batch, c.kv_heads, c.keys, value_depth(c)}, c.layout),
      o(c.dtype, {c.batch, c.heads, c.queries, value_depth(c)}, c.layout),
      lse(DType::f32, {c.batch, c.heads, c.queries}),
      key_lengths(DType::i32, {c.batch}) {
  q.fill_normal(seed, c.input_scale);
  k.fill_normal(seed + 1, c.input_scale);
  v.fill_normal(seed + 2);
  o.poison();
  lse.poison();
  for (std::size_t b = 0; b < c.key_lengths.size(); ++b) {
    auto batch = static_cast<std::int64_t>(b);
    key_lengths.set({batch}, static_cast<double>(c.key_lengths[b]));
    // What lies past a sequence's end must not reach a result.
    for (std::int64_t h = 0; h < c.kv_heads; ++h) {
      for (std::int64_t n = c.key_lengths[b]; n < c.keys; ++n) {
        for (std::int64_t d = 0; d < c.depth; ++d) k.set({batch, h, n, d}, std::nan(""));
        for (std::int64_t d = 0; d < value_depth(c); ++d) v.set({batch, h, n, d}, std::nan(""));
      }
    }
  }
}

AttentionCall Tensors::call(const Case& c) const {
  AttentionCall call{.q = q.view(), .k = k.view(), .v = v.view(), .o = o.view(), .lse = lse.view(), .params = c.params};
  if (!c.key_lengths.empty()) call.key_lengths = key_lengths.view();
  return call;
}

AttentionOptions options_of(const Case& c) {
  return {.mask = c.mask,
          .scores = c.scores,
          .dtype = c.dtype,
          .head_dim = c.depth,
          .value_dim = c.value_depth,
          .scale = c.scale,
          .query_tile = c.query_tile,
          .key_tile = c.key_tile,
          .plan_maker = c.plan_maker};
}

Problem Tensors::problem(const Case& c) const {
  return {.q = &q,
          .k = &k,
          .v = &v,
          .scale = c.scale.value_or(1 / std::sqrt(static_cast<double>(c.depth))),
          .allowed = c.allowed,
          .score = c.score,
          .key_lengths = c.key_lengths,
          .chained = c.chained};
}

void check_case(const Case& c, const std::string& name) {
  CAPTURE(name);
  Tensors t(c);
  std::vector<double> q = t.q.values();
  Attention attend(options_of(c));
  attend(t.call(c));

  Result exact = attention_fp64(t.problem(c));
  Tolerance allowed = tolerance(t.problem(c), exact);
  CHECK(max_difference(t.o.values(), exact.o) <= allowed.o);
  CHECK(max_difference(t.lse.values(), exact.lse) <= allowed.lse);
  for (const TestTensor* tensor : {&t.q, &t.k, &t.v, &t.o, &t.lse}) CHECK(tensor->guards_intact());
  CHECK(max_difference(t.q.values(), q) == 0);
}

void run_on_cpu(Attention& attend, Tensors& tensors, const Case& c) { attend(tensors.call(c)); }

void check_counts(Case c, const std::string& name, Runner run) {
  CAPTURE(name);
  c.depth = std::max(c.depth, 8);
  Tensors t(c);
  t.q.fill(0);
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t h = 0; h < c.kv_heads; ++h) {
      std::int64_t live = c.key_lengths.empty() ? c.keys : c.key_lengths[static_cast<std::size_t>(b)];
      for (std::int64_t n = 0; n < live; ++n) {
        t.v.set({b, h, n, 0}, 1);
        t.v.set({b, h, n, 1}, static_cast<double>(n % 64) / 64);
      }
    }
  }
  Attention attend(options_of(c));
  run(attend, t, c);

  double rounding = c.dtype == DType::f16 ? 0x1p-11 : 0x1p-8;
  int wrong = 0;
  for (std::int64_t b = 0; b < c.batch; ++b) {
    std::int64_t live = c.key_lengths.empty() ? c.keys : c.key_lengths[static_cast<std::size_t>(b)];
    for (std::int64_t h = 0; h < c.heads; ++h) {
      for (std::int64_t q = 0; q < c.queries; ++q) {
        double count = 0, sum = 0;
        for (std::int64_t k = 0; k < live; ++k) {
          if (!c.allowed({b, h, q, k})) continue;
          count += 1;
          sum += static_cast<double>(k % 64) / 64;
        }
        double lse = t.lse.at({b, h, q}), one = t.o.at({b, h, q, 0}), mean = t.o.at({b, h, q, 1});
        bool right = count == 0 ? lse == -std::numeric_limits<double>::infinity() && one == 0 && mean == 0
                                : std::abs(lse - std::log(count)) < 2e-6 * (1 + std::log(count)) &&
                                      std::abs(one - 1) <= rounding && std::abs(mean - sum / count) <= 2 * rounding;
        wrong += !right;
      }
    }
  }
  CHECK(wrong == 0);
}

void check_identity(Case c, const std::string& name, Runner run) {
  constexpr std::int64_t kWidest = 256;  // columns of V
  CAPTURE(name);
  CAPTURE(c.queries);
  CAPTURE(c.keys);
  c.value_depth = static_cast<int>(std::min((c.keys + 7) / 8 * 8, kWidest));
  Attention attend(options_of(c));
  std::int64_t wrong = 0;
  for (std::int64_t first = 0; first < c.keys; first += c.value_depth) {
    Tensors t(c);
    t.q.fill(0);
    t.v.fill(0);
    const std::int64_t columns = std::min<std::int64_t>(c.value_depth, c.keys - first);
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t h = 0; h < c.kv_heads; ++h)
        for (std::int64_t j = 0; j < columns; ++j) t.v.set({b, h, first + j, j}, 1);
    run(attend, t, c);
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t h = 0; h < c.heads; ++h)
        for (std::int64_t q = 0; q < c.queries; ++q)
          for (std::int64_t j = 0; j < columns; ++j)
            wrong += (t.o.at({b, h, q, j}) > 0) != c.allowed({b, h, q, first + j});
  }
  CHECK(wrong == 0);
}

}  // namespace tessera::test
