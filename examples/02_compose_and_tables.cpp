// Lesson 2. Masks compose with & | ~, read tables, and take numbers that are known only at the call.
#include <cstdio>
#include <string>

#include <tessera/attention.h>

#include "support.h"

using namespace tessera;

namespace {

constexpr int kTokens = 1000;

// Runs `mask` on random tensors and compares with the definition.
void show(const std::string& name, const Mask& mask, const example::Allowed& allowed,
          std::vector<mask::NamedScalar> params = {}) {
  auto q = example::Tensor::random(2, kTokens, 64, 1), k = example::Tensor::random(2, kTokens, 64, 2);
  auto v = example::Tensor::random(2, kTokens, 64, 3), o = example::Tensor(2, kTokens, 64);
  Attention attend({.mask = mask, .dtype = bf16, .head_dim = 64});
  attend({.q = q.view(), .k = k.view(), .v = v.view(), .o = o.view(), .params = std::move(params)});
  const double error = example::largest_error(q, k, v, o, allowed, 13);
  std::printf("%-28s largest error %.2e\n", name.c_str(), error);
  example::check(error < 0.02, name.c_str());
}

}  // namespace

int main() {
  // Three documents in one sequence: a query sees its own, up to itself.
  const std::vector<std::int32_t> ids = document_ids({400, 150, 450});
  Table doc(ids);
  Mask docs = causal & [doc](Position q, Position k) { return doc[q] == doc[k]; };
  show("documents, causal", docs, [&](auto q, auto k) { return k <= q && ids[q] == ids[k]; });

  // The first four keys and a window: what streaming models keep.
  Mask streaming = causal & (sinks(4) | window(127, 0));
  show("sinks and window", streaming, [](auto q, auto k) { return k <= q && (k < 4 || q - k <= 127); });

  // Not the window: the far past, which another kernel might attend to more coarsely.
  Mask far = causal & ~window(127, 0);
  show("all but the window", far, [](auto q, auto k) { return k <= q && q - k > 127; });

  // Tokens that are the pixels of a 20 x 50 image, each seeing a 9 x 9 square around itself.
  Grid image{20, 50};
  Mask nearby = [image](Position q, Position k) {
    auto [qy, qx] = image(q);
    auto [ky, kx] = image(k);
    return abs(qy - ky) <= 4 && abs(qx - kx) <= 4;
  };
  show("square in an image", nearby,
       [](auto q, auto k) { return std::abs(q / 50 - k / 50) <= 4 && std::abs(q % 50 - k % 50) <= 4; });

  // A width that each call may change: the kernel is compiled once. A captured C++ number would be a constant.
  Param<i32> left{"left", 63};
  Mask band = [left](Position q, Position k) { return k <= q && q - k <= left; };
  show("window by parameter", band, [](auto q, auto k) { return k <= q && q - k <= 63; });
  show("the same, wider", band, [](auto q, auto k) { return k <= q && q - k <= 300; }, {{"left", 300}});
}
