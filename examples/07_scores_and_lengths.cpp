// Lesson 7. What a call can say beside its mask: what is done to the scores, which keys exist, and that the log-sum-exp
// is wanted.
#include <cstdio>

#include <tessera/attention.h>

#include "support.h"

using namespace tessera;

namespace {

constexpr int kTokens = 300, kKeys = 250, kDim = 64;
constexpr std::uint16_t kNan = 0x7fff;  // bf16

}  // namespace

int main() {
  auto q = example::Tensor::random(2, kTokens, kDim, 1), k = example::Tensor::random(2, kTokens, kDim, 2);
  auto v = example::Tensor::random(2, kTokens, kDim, 3), o = example::Tensor(2, kTokens, kDim);
  std::vector<float> lse(2 * kTokens);
  std::vector<std::int32_t> lengths{kKeys};

  // The scores of a query and a key are scaled, then changed by these from left to right, then masked.
  Score fading = [](ScoreValue s, Position q, Position k) { return s - 0.01 * cast<f32>(abs(q - k)); };
  Attention attend({.mask = causal, .scores = {softcap(3), fading}, .dtype = bf16, .head_dim = 64, .scale = 0.1});
  attend({.q = q.view(),
          .k = k.view(),
          .v = v.view(),
          .o = o.view(),
          .lse = View::contiguous(lse.data(), f32, {1, 2, kTokens}),
          .key_lengths = View::contiguous(lengths.data(), i32, {1})});

  const auto allowed = [](auto i, auto j) { return j <= i && j < kKeys; };
  const auto scored = [](double product, auto i, auto j) {
    return 3 * std::tanh(product * 0.1 / 3) - 0.01 * static_cast<double>(std::abs(i - j));
  };
  double error = 0, lse_error = 0;
  for (int query = 0; query < kTokens; ++query) {
    const auto [exact, exact_lse] = example::scored_row(q, k, v, 1, query, allowed, scored);
    const auto got = o.row(1, query);
    for (std::size_t d = 0; d < exact.size(); ++d) error = std::max(error, std::abs(got[d] - exact[d]));
    lse_error = std::max(lse_error, std::abs(lse[kTokens + query] - exact_lse));
  }
  std::printf("largest error against fp64: %.2e, of the log-sum-exp %.2e\n", error, lse_error);
  example::check(error < 0.02 && lse_error < 1e-4, "the definition, with its scores and its lengths");

  // Keys that do not exist are never read: whatever memory holds there, the bits of the result are the same.
  const auto before = o.bits;
  for (int head = 0; head < 2; ++head) {
    for (int key = kKeys; key < kTokens; ++key) {
      const auto at = static_cast<std::ptrdiff_t>((head * kTokens + key) * kDim);
      std::fill_n(k.bits.begin() + at, kDim, kNan);
      std::fill_n(v.bits.begin() + at, kDim, kNan);
    }
  }
  attend({.q = q.view(),
          .k = k.view(),
          .v = v.view(),
          .o = o.view(),
          .key_lengths = View::contiguous(lengths.data(), i32, {1})});
  example::check(o.bits == before, "keys past the end of their sequence do not reach the result");
}
