// Patterns whose attention is several calls, put together by merge: branches of LongNet, where a key that several
// branches see counts as often, and rings, which are one attention over all keys.
#include <doctest/doctest.h>

#include <cmath>

#include <tessera/library/merge.h>

#include "library/catalogue/catalogue.h"

using namespace tessera;
using namespace tessera::test;

namespace {

constexpr std::int64_t kHeads = 4;
constexpr int kDim = 16;

struct Part {
  TestTensor o, lse;
};

// A run of a tensor's tokens.
View tokens_of(View view, std::int64_t first, std::int64_t count) {
  view.data = static_cast<std::byte*>(view.data) + first * view.strides[2] * bytes_of(view.dtype);
  view.shape[2] = count;
  return view;
}

}  // namespace

TEST_CASE("LongNet: a key of several branches counts once for each") {
  constexpr std::int64_t n = 96;
  const std::vector<LongNet> branches{{.segment = 16, .dilation = 1, .heads = kHeads},
                                      {.segment = 48, .dilation = 2, .heads = kHeads},
                                      {.segment = 96, .dilation = 4, .heads = kHeads}};
  Case c{.heads = kHeads, .kv_heads = kHeads, .queries = n, .keys = n, .depth = kDim};
  Tensors t(c);
  std::vector<Part> parts;
  std::vector<Partial> partials;
  parts.reserve(branches.size());
  for (const LongNet& branch : branches) {
    parts.push_back({TestTensor(DType::bf16, {1, kHeads, n, kDim}), TestTensor(DType::f32, {1, kHeads, n})});
    Attention attend({.mask = longnet(branch), .dtype = DType::bf16, .head_dim = kDim});
    attend({.q = t.q.view(),
            .k = t.k.view(),
            .v = t.v.view(),
            .o = parts.back().o.view(),
            .lse = parts.back().lse.view()});
    partials.push_back({parts.back().o.view(), parts.back().lse.view()});
  }
  merge(partials, {t.o.view(), t.lse.view()});

  // exp(score + log(times)) is times * exp(score).
  const auto times = [&](const Pair& p) {
    int count = 0;
    for (const LongNet& b : branches)
      count += p.q / b.segment == p.k / b.segment && p.q % b.segment % b.dilation == p.head * b.dilation / kHeads &&
               p.k % b.segment % b.dilation == p.head * b.dilation / kHeads;
    return count;
  };
  Problem problem = t.problem(c);
  problem.allowed = [&](const Pair& p) { return times(p) > 0; };
  const Result once = attention_fp64(problem);
  problem.score = [&](const Pair& p, double s) { return s + std::log(times(p)); };
  const Result weighted = attention_fp64(problem);
  const Tolerance allowed = tolerance(problem, weighted);
  CHECK(max_difference(t.o.values(), weighted.o) <= 2 * allowed.o);
  CHECK(max_difference(t.lse.values(), weighted.lse) <= 2 * allowed.lse);
  CHECK(max_difference(t.lse.values(), once.lse) > 0.1);  // the boolean union is something else
}

TEST_CASE("a ring's parts are one attention, in runs and in a zigzag (B65)") {
  for (bool zigzag : {false, true})
    for (int ranks : {2, 4}) {
      const std::int64_t n = 192;
      Case c{.heads = kHeads, .kv_heads = 1, .queries = n, .keys = n, .depth = kDim};
      c.mask = causal;
      c.allowed = [](const Pair& p) { return p.k <= p.q; };
      Tensors t(c);
      const Result exact = attention_fp64(t.problem(c));
      const std::int64_t run = n / (zigzag ? 2 * ranks : ranks);
      // The order in which tokens lie on the machines, one after another.
      std::vector<std::int64_t> order;
      for (int r = 0; r < ranks; ++r) {
        for (std::int64_t i = 0; i < run; ++i) order.push_back(r * run + i);
        for (std::int64_t i = 0; zigzag && i < run; ++i) order.push_back((2 * ranks - 1 - r) * run + i);
      }
      Tensors sharded(c);
      for (auto [from, to] : {std::pair{&t.q, &sharded.q}, {&t.k, &sharded.k}, {&t.v, &sharded.v}})
        for (std::int64_t h = 0; h < from->shape()[1]; ++h)
          for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t d = 0; d < kDim; ++d)
              to->set({0, h, i, d}, from->at({0, h, order[static_cast<std::size_t>(i)], d}));
      const std::int64_t local = n / ranks;
      for (int r = 0; r < ranks; ++r) {
        std::vector<Part> parts;
        std::vector<Partial> partials;
        parts.reserve(static_cast<std::size_t>(ranks));
        for (int s = 0; s < ranks; ++s) {
          parts.push_back(
              {TestTensor(DType::f32, {1, kHeads, local, kDim}), TestTensor(DType::f32, {1, kHeads, local})});
          TestTensor o(DType::bf16, {1, kHeads, local, kDim});
          Attention attend({.mask = ring(causal, {n, ranks, r, s, zigzag}), .dtype = DType::bf16, .head_dim = kDim});
          attend({.q = tokens_of(sharded.q.view(), r * local, local),
                  .k = tokens_of(sharded.k.view(), s * local, local),
                  .v = tokens_of(sharded.v.view(), s * local, local),
                  .o = o.view(),
                  .lse = parts.back().lse.view()});
          for (std::int64_t h = 0; h < kHeads; ++h)
            for (std::int64_t i = 0; i < local; ++i)
              for (std::int64_t d = 0; d < kDim; ++d) parts.back().o.set({0, h, i, d}, o.at({0, h, i, d}));
          partials.push_back({parts.back().o.view(), parts.back().lse.view()});
        }
        TestTensor o(DType::f32, {1, kHeads, local, kDim}), lse(DType::f32, {1, kHeads, local});
        merge(partials, {o.view(), lse.view()});
        const Tolerance allowed = tolerance(t.problem(c), exact);
        double worst = 0, worst_lse = 0;
        for (std::int64_t h = 0; h < kHeads; ++h)
          for (std::int64_t i = 0; i < local; ++i) {
            const auto row = static_cast<std::size_t>(h * n + order[static_cast<std::size_t>(r * local + i)]);
            worst_lse = std::max(worst_lse, std::abs(lse.at({0, h, i}) - exact.lse[row]));
            for (std::int64_t d = 0; d < kDim; ++d)
              worst = std::max(worst, std::abs(o.at({0, h, i, d}) - exact.o[row * kDim + static_cast<std::size_t>(d)]));
          }
        CAPTURE(zigzag);
        CAPTURE(ranks);
        CAPTURE(r);
        CHECK(worst <= 2 * allowed.o);
        CHECK(worst_lse <= 2 * allowed.lse);
      }
    }
}
