// R-SDDMM, softmax and R-SpMM over bands on the interpreter, against fp64, step by step.
#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include <tessera/library/acsr/acsr_attention.h>
#include <tessera/library/patterns.h>

#include "library/acsr/random_rows.h"
#include "library/attention_case.h"
#include "support/refusal.h"

using namespace tessera;
using namespace tessera::test;

namespace {

struct Shape {
  std::int64_t batch = 1, heads = 2, kv_heads = 1;
  int depth = 16, value_depth = 24, height = 16, key_tile = 16;
  DType dtype = DType::bf16;
  TensorOptions layout = {};
};

void check_attention(const Acsr& acsr, const Shape& s) {
  const auto rows = static_cast<std::int64_t>(acsr.rows.size());
  Case c{.batch = s.batch,
         .heads = s.heads,
         .kv_heads = s.kv_heads,
         .queries = rows,
         .keys = acsr.columns,
         .depth = s.depth,
         .value_depth = s.value_depth,
         .dtype = s.dtype};
  c.layout = s.layout;
  c.allowed = [&](const Pair& p) { return acsr.rows[static_cast<std::size_t>(p.q)].contains(p.k); };
  Tensors t(c);
  AcsrAttention attend(
      acsr,
      {.dtype = s.dtype, .head_dim = s.depth, .value_dim = s.value_depth, .height = s.height, .key_tile = s.key_tile});
  TestTensor scores(DType::f32, attend.values_shape(s.batch, s.heads));
  TestTensor probabilities(s.dtype, attend.values_shape(s.batch, s.heads));
  scores.poison();  // what is not live is neither written nor read
  probabilities.poison();

  attend.scores(t.q.view(), t.k.view(), scores.view());
  const double scale = 1 / std::sqrt(static_cast<double>(s.depth));
  std::int64_t live = 0, wrong = 0;
  const AcsrLayout& layout = attend.layout();
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::size_t i = 0; i < layout.bands.size(); ++i)
        for (std::int64_t r = 0; r < layout.bands[i].rows; ++r)
          for (std::int64_t j = 0; j < layout.width; ++j) {
            const AcsrBand& band = layout.bands[i];
            const std::int64_t q = band.row + r * band.row_step, k = band.key + j * band.key_step;
            if (!acsr.rows[static_cast<std::size_t>(q)].contains(k)) continue;
            double dot = 0;
            for (std::int64_t d = 0; d < s.depth; ++d)
              dot += static_cast<double>(t.q.at({b, h, q, d})) * t.k.at({b, h / (s.heads / s.kv_heads), k, d});
            const double got = scores.at({b, h, static_cast<std::int64_t>(i), r, j});
            wrong += !(std::abs(got - dot * scale) <= 1e-5 * (1 + std::abs(dot * scale)));
            ++live;
          }
  CHECK(live == acsr.nnz() * s.batch * s.heads);
  CHECK(wrong == 0);

  attend.softmax(scores.view(), probabilities.view(), t.lse.view());
  attend.product(probabilities.view(), t.v.view(), t.o.view());
  const Result exact = attention_fp64(t.problem(c));
  const Tolerance allowed = tolerance(t.problem(c), exact);
  CHECK(max_difference(t.lse.values(), exact.lse) <= allowed.lse);
  CHECK(max_difference(t.o.values(), exact.o) <= 2 * allowed.o + 0x1p-8);
  for (const TestTensor* tensor : {&t.q, &t.k, &t.v, &t.o, &t.lse, &scores, &probabilities})
    CHECK(tensor->guards_intact());
}

Acsr regular(const Mask& mask, std::int64_t queries, std::int64_t keys) {
  return require_regular(acsr_of(mask, {.queries = queries, .keys = keys}));
}

}  // namespace

TEST_CASE("regular masks: windows, blocks, strides, dilations, more and fewer queries than keys") {
  for (auto [queries, keys] : {std::pair{96, 96}, {70, 101}, {101, 70}, {1, 40}})
    for (const Mask& mask : {Mask(full), Mask(causal), window(20, 0), window(7, 9), strided(5), dilated_window(4, 3),
                             block_diagonal(24), blocked(16), prefix(30)})
      check_attention(regular(mask, queries, keys), {});
}

TEST_CASE("random rows of any stride, without keys and with one") {
  std::mt19937_64 random(3);
  for (int i = 0; i < 6; ++i) check_attention(random_acsr(random, 20 + 7 * i, 90 - 13 * i), {.heads = 1});
}

TEST_CASE("batches, heads, dtypes, tiles and memory of any order") {
  const Acsr acsr = regular(dilated_window(6, 2), 50, 60);
  check_attention(acsr, {.batch = 2, .heads = 4, .kv_heads = 2});
  check_attention(acsr, {.heads = 3, .kv_heads = 3, .dtype = DType::f16});
  check_attention(acsr, {.height = 64, .key_tile = 8});
  check_attention(acsr, {.height = 1, .key_tile = 64});
  check_attention(acsr, {.batch = 2, .layout = {.row_padding = 8}});
  check_attention(acsr, {.batch = 2, .layout = {.order = {0, 2, 1, 3}}});
}

TEST_CASE("what it refuses") {
  const auto refusal = [](const auto& work) { return refusal_in(__FILE__, work); };
  const Acsr acsr = regular(window(3, 0), 8, 8);
  CHECK(refusal([&] { AcsrAttention(acsr, {.dtype = f32, .head_dim = 8}); }) ==
        "error: dtype is f32; note: give f16 or bf16");
  CHECK(refusal([&] { AcsrAttention(acsr, {}); }) ==
        "error: head_dim is 0, and a tile has 64 keys; note: give 1 or more of each");
  CHECK(refusal([&] { AcsrAttention(acsr, {.head_dim = 8, .height = 0}); }) ==
        "error: a band has 0 rows; note: give 1 or more");
  AcsrAttention attend(acsr, {.head_dim = 8, .height = 4});
  CHECK(attend.values_shape(1, 2) == std::vector<std::int64_t>{1, 2, 2, 4, 7});
  TestTensor q(bf16, {1, 2, 8, 8}), short_k(bf16, {1, 2, 7, 8}), scores(f32, {1, 2, 2, 4, 7}),
      other(f32, {1, 2, 2, 4, 8});
  CHECK(
      refusal([&] { attend.scores(q.view(), short_k.view(), scores.view()); }) ==
      "error: k is bf16 of shape [1, 2, 7, 8], expected bf16 of [1, 2, 8, 8]; note: make the shapes and dtypes agree");
  CHECK(refusal([&] { attend.scores(q.view(), q.view(), other.view()); }) ==
        "error: scores is f32 of shape [1, 2, 2, 4, 8], expected f32 of [1, 2, 2, 4, 7]; note: make the shapes and "
        "dtypes agree");
}
