// Lesson 5. Everything that a predicate may be made of, each compared with the same rule in plain C++.
#include <cmath>
#include <cstdio>
#include <string>

#include <tessera/attention.h>

#include "support.h"

using namespace tessera;

namespace {

constexpr int kTokens = 200;

// Division that rounds down, as predicates have it. That of C++ rounds towards zero.
int floor_div(int a, int b) { return static_cast<int>(std::floor(static_cast<double>(a) / b)); }
int floor_mod(int a, int b) { return a - b * floor_div(a, b); }

using Rule = std::function<bool(int query, int key, int head)>;

// Two heads of attention under `mask`, against the definition under `rule`.
void same(const char* name, const Mask& mask, const Rule& rule, std::vector<mask::NamedScalar> params = {},
          std::vector<NamedTable> tables = {}) {
  auto q = example::Tensor::random(2, kTokens, 16, 1), k = example::Tensor::random(2, kTokens, 16, 2);
  auto v = example::Tensor::random(2, kTokens, 16, 3), o = example::Tensor(2, kTokens, 16);
  Attention attend({.mask = mask, .dtype = bf16, .head_dim = 16});
  attend({.q = q.view(), .k = k.view(), .v = v.view(), .o = o.view(), .params = params, .tables = tables});
  double error = 0;
  for (int head = 0; head < 2; ++head) {
    for (int query = 0; query < kTokens; ++query) {
      const auto allowed = [&](auto i, auto j) { return rule(static_cast<int>(i), static_cast<int>(j), head); };
      const auto exact = example::attention_row(q, k, v, head, query, allowed), got = o.row(head, query);
      for (std::size_t d = 0; d < exact.size(); ++d) error = std::max(error, std::abs(got[d] - exact[d]));
    }
  }
  std::printf("%-12s largest error %.2e\n", name, error);
  example::check(error < 0.02, name);
}

}  // namespace

int main() {
  const int stride = 8;
  const std::vector<float> reach_of_head{20, 60};
  const std::vector<std::int32_t> blocks{1, 0, 1, 0, 1, 1, 0, 0, 1};  // 3 x 3 tiles of 70 tokens
  const Table live(blocks, 3, 3);
  const Table speaker(document_ids({50, 150}));
  const Table reach(reach_of_head);
  const Param<i32> left{"left", 10};
  const Table<i32> phase("phase");

  // == != < <= > >=, && || !, + - * on positions and C++ integers; what is captured is a constant of the kernel.
  Mask strided = [stride](Position q, Position k) { return k <= q && !(q - k >= 64 && k != stride * (k / stride)); };

  // / and % round down, where C++ rounds towards zero: -1 / 8 is -1 and -1 % 8 is 7.
  Mask shifted = [](Position q, Position k) { return (k - 100) / 8 == (q - 100) / 8 || (k - q) % 50 == 1; };

  // Nothing is undefined: i32 wraps, and x / 0 and x % 0 are 0.
  Mask defined = [](Position q, Position k) { return q % (k % 3) == 0 || (k * 1103515245 + 12345) / 65536 % 4 == 1; };

  // abs, min, max and where(condition, a, b). All operands are computed: nothing branches.
  Mask shaped = [](Position q, Position k) { return abs(q - k) <= max(4, min(q / 4, where(k < 90, 12, 30))); };

  // A third parameter has the head, the batch and the lengths of the call.
  Mask by_head = [](Position q, Position k, At at) { return k <= q + at.key_length - at.query_length - at.head; };

  // Tables of i32 or f32, captured (one or two dims) or given at the call. One that is read at a position itself, as
  // speaker[k], has as many elements as there are positions, or is refused; computed indices are clamped to its ends.
  Mask tables = [=](Position q, Position k) { return live(q / 70, k / 70) != 0 || speaker[q + 20] == speaker[k]; };
  Mask by_call = [phase](Position q, Position k) { return phase[q] == phase[k]; };

  // f32 by cast, with exp, log, sqrt, tanh, floor and the like. What is used twice gets a name: by let, or by its type.
  Mask rounded = [reach](Position q, Position k, At at) {
    auto away = let(sqrt(cast<f32>(abs(q - k))));
    return away * 2 < sqrt(reach[at.head]) || abs(away - 8.5) < 0.25;
  };

  // A Param: a number of each call.
  Mask band = [left](Position q, Position k) {
    Position back = q - k;
    return back >= 0 && back <= left;
  };

  same("strided", strided, [](int q, int k, int) { return k <= q && (q - k < 64 || k % 8 == 0); });
  same("shifted", shifted,
       [](int q, int k, int) { return floor_div(k - 100, 8) == floor_div(q - 100, 8) || floor_mod(k - q, 50) == 1; });
  same("defined", defined, [](int q, int k, int) {
    const auto random = static_cast<std::int32_t>(static_cast<std::uint32_t>(k) * 1103515245u + 12345u);
    return k % 3 == 0 || q % (k % 3) == 0 || floor_mod(floor_div(random, 65536), 4) == 1;
  });
  same("shaped", shaped,
       [](int q, int k, int) { return std::abs(q - k) <= std::max(4, std::min(q / 4, k < 90 ? 12 : 30)); });
  same("by head", by_head, [](int q, int k, int head) { return k <= q - head; });
  same("tables", tables, [&](int q, int k, int) {
    return blocks[q / 70 * 3 + k / 70] != 0 || (std::min(q + 20, 199) >= 50) == (k >= 50);
  });
  std::vector<std::int32_t> phases(kTokens);
  for (int i = 0; i < kTokens; ++i) phases[i] = i * i % 7;
  same("by call", by_call, [&](int q, int k, int) { return phases[q] == phases[k]; }, {},
       {{"phase", View::contiguous(phases.data(), i32, {kTokens})}});
  same("rounded", rounded, [&](int q, int k, int head) {
    const float away = std::sqrt(static_cast<float>(std::abs(q - k)));
    return away * 2 < std::sqrt(reach_of_head[head]) || std::abs(away - 8.5) < 0.25;
  });
  try {  // 199 ids for 200 keys
    same("short", documents(std::vector<std::int32_t>(kTokens - 1)), [](int, int, int) { return true; });
    example::check(false, "a table that a position indexes is refused if it is too short");
  } catch (const UserError& error) {
    std::printf("refused: %s\n", error.what());
  }
  same("band", band, [](int q, int k, int) { return k <= q && q - k <= 33; }, {{"left", 33}});
}
