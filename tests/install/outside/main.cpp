// One query of a window of two keys whose scores are equal: the output is the mean of the two values, and of a kernel
// of its own: what is not exported, or not installed, does not link or compile here.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <tessera/attention.h>

using namespace tessera;

namespace {

constexpr std::int64_t kTokens = 200, kDim = 64;
constexpr std::uint16_t kOne = 0x3f80, kThree = 0x4040;  // bf16

int fail(const char* what) {
  std::printf("wrong: %s\n", what);
  return 1;
}

}  // namespace

int main() {
  std::vector<std::uint16_t> q(kTokens * kDim, 0), k(q), v(q), o(q);
  for (std::int64_t i = 0; i < kTokens * kDim; ++i) v[i] = i / kDim % 2 == 0 ? kOne : kThree;
  const auto view = [](std::vector<std::uint16_t>& x) {
    return View::contiguous(x.data(), bf16, {1, 1, kTokens, kDim});
  };
  std::vector<float> lse(kTokens);

  Table doc(document_ids({100, 100}));
  Mask pairs = [doc](Position q, Position k) { return k <= q && q - k < 2 && doc[q] == doc[k]; };
  Attention attend({.mask = pairs & (causal | sinks(4)), .dtype = bf16, .head_dim = kDim});
  attend({.q = view(q),
          .k = view(k),
          .v = view(v),
          .o = view(o),
          .lse = View::contiguous(lse.data(), f32, {1, 1, kTokens})});

  for (std::int64_t i = 0; i < kTokens; ++i) {
    const bool first = i % 100 == 0;  // of its document: sees itself alone
    if (o[i * kDim] != (first ? kOne : 0x4000)) return fail("output");
    if (std::abs(lse[i] - (first ? 0 : std::log(2))) > 1e-6) return fail("log-sum-exp");
  }
  if (attend.ptx().find("wgmma") == std::string::npos) return fail("PTX");
  std::puts(attend.explain().c_str());

  try {
    attend({.q = view(q), .k = view(k), .v = view(v), .o = View::contiguous(o.data(), bf16, {1, 1, kTokens, 32})});
    return fail("a wrong shape was accepted");
  } catch (const UserError& error) {
    std::puts(error.what());
  }
}
