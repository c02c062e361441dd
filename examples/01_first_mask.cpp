// Lesson 1. A mask is a predicate on two positions, and attention over it is one call.
#include <cstdio>

#include <tessera/attention.h>

#include "support.h"

using namespace tessera;

int main() {
  // Every query sees itself and the 255 keys before it. The lambda runs once, on symbols: what it returns is kept as an
  // expression, from which Tessera works out the tiles to visit and the code for those at the window's edges.
  Mask recent = [](Position q, Position k) { return k <= q && q - k < 256; };

  // Four query heads over two key heads, 1000 tokens, head dim 64. A View is memory that somebody else owns.
  auto q = example::Tensor::random(4, 1000, 64, 1);
  auto k = example::Tensor::random(2, 1000, 64, 2);
  auto v = example::Tensor::random(2, 1000, 64, 3);
  auto o = example::Tensor(4, 1000, 64);

  Attention attend({.mask = recent, .dtype = bf16, .head_dim = 64});
  attend({.q = q.view(), .k = k.view(), .v = v.view(), .o = o.view()});
  std::puts(attend.explain().c_str());

  const double error = example::largest_error(q, k, v, o, [](auto i, auto j) { return j <= i && i - j < 256; }, 7);
  std::printf("largest error against fp64: %.2e\n", error);
  example::check(error < 0.01, "attention over the window, to the precision of bf16");

  // window(255, 0) is the library's name for this mask: both compute the same bits.
  auto same = example::Tensor(4, 1000, 64);
  Attention named({.mask = window(255, 0), .dtype = bf16, .head_dim = 64});
  named({.q = q.view(), .k = k.view(), .v = v.view(), .o = same.view()});
  example::check(o.bits == same.bits, "two spellings of one mask give the same result");
}
