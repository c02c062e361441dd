// Lesson 8. A mask of nobody's catalogue, over the frames of a video, and the order of its tokens that makes tiles
// dense.
//
// Tokens lie frame by frame and row by row. A tile of 128 consecutive ones is a strip of a few rows, and hardly any two
// strips see all of each other. Nobody has to say so: the plan that the predicate gets has tiles that are boxes of the
// video, which the kernel reads and writes where they lie.
#include <cmath>
#include <cstdio>
#include <string>

#include <tessera/attention.h>

#include "support.h"

using namespace tessera;

namespace {

constexpr int kFrames = 16, kRows = 24, kColumns = 32, kHeads = 4, kDim = 64;
constexpr int kFrame = kRows * kColumns, kTokens = kFrames * kFrame;

bool allowed(std::int64_t q, std::int64_t k) {
  const bool near =
      std::abs(q % kFrame / kColumns - k % kFrame / kColumns) <= 4 && std::abs(q % kColumns - k % kColumns) <= 4;
  return (near && k / kFrame % 2 == 0) || k < kFrame;
}

}  // namespace

int main() {
  // A query sees the 9 x 9 places around its own in every even frame, and all of the first frame.
  Mask mask = [](Position q, Position k) {
    Position down = q % kFrame / kColumns - k % kFrame / kColumns, across = q % kColumns - k % kColumns;
    return (abs(down) <= 4 && abs(across) <= 4 && k / kFrame % 2 == 0) || k < kFrame;
  };

  // What the compiler makes of it, and of the same mask where a tile is named: then tiles are of consecutive tokens.
  Attention attend({.mask = mask, .dtype = bf16, .head_dim = kDim});
  Attention in_strips({.mask = mask, .dtype = bf16, .head_dim = kDim, .query_tile = 128, .key_tile = 128});
  const AttentionShapes shapes{
      .batch = 1, .heads = kHeads, .kv_heads = kHeads, .query_length = kTokens, .key_length = kTokens};
  attend.prepare(shapes), in_strips.prepare(shapes);
  const std::string found = attend.explain(), strips = in_strips.explain();
  std::printf("the plan that was found\n%s\nin strips of 128 tokens\n%s\n", found.c_str(), strips.c_str());

  auto q = example::Tensor::random(kHeads, kTokens, kDim, 1), k = example::Tensor::random(kHeads, kTokens, kDim, 2);
  auto v = example::Tensor::random(kHeads, kTokens, kDim, 3), o = example::Tensor(kHeads, kTokens, kDim);
  attend({.q = q.view(), .k = k.view(), .v = v.view(), .o = o.view()});
  double error = 0;
  for (int head = 0; head < kHeads; ++head) {
    for (int query = head; query < kTokens; query += 1201) {
      const auto exact = example::attention_row(q, k, v, head, query, [&](auto i, auto j) { return allowed(i, j); });
      const auto got = o.row(head, query);
      for (std::size_t d = 0; d < exact.size(); ++d) error = std::max(error, std::abs(got[d] - exact[d]));
    }
  }
  std::printf("largest error %.2e\n", error);
  example::check(error < 0.02, "attention in boxes of a video");
  example::check(found.find("queries [768:") != std::string::npos || found.find("queries [32:") != std::string::npos,
                 "tiles are boxes");
}
