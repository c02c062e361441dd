// What README.md says attention takes without a GPU, measured: dense, 4096 tokens, 8 heads of dim 64, by
// interpretation.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <tessera/attention.h>

using namespace tessera;

int main() {
  constexpr std::int64_t kHeads = 8, kTokens = 4096, kDim = 64;
  constexpr double kMost = 20;  // seconds: ten times what README.md says, for slower and busier machines
  constexpr std::uint16_t kOne = 0x3f80;
  std::vector<std::uint16_t> q(kHeads * kTokens * kDim, kOne), o(q.size(), 0);
  const auto view = [](auto& memory) { return View::contiguous(memory.data(), bf16, {1, kHeads, kTokens, kDim}); };

  Attention attend({.mask = full, .dtype = bf16, .head_dim = kDim});
  const auto start = std::chrono::steady_clock::now();
  attend({.q = view(q), .k = view(q), .v = view(q), .o = view(o)});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%.2f s\n", seconds);
  if (o != q) std::puts("the mean of ones is not one");
  return o == q && seconds < kMost ? 0 : 1;
}
