// R-SDDMM, softmax and R-SpMM over bands on the interpreter, against fp64, step by step.
#include <random>

#include <doctest/doctest.h>

#include <tessera/library/patterns.h>

#include "library/acsr/acsr_case.h"
#include "library/acsr/random_rows.h"
#include "support/refusal.h"

using namespace tessera;
using namespace tessera::test;

namespace {

void check_attention(const Acsr& acsr, const AcsrProblem& problem) { check_acsr(OnHost(), acsr, problem); }

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
  CHECK(attend.values_shape(1, 2) == std::vector<std::int64_t>{1, 2, 2, 4, 8});
  TestTensor q(bf16, {1, 2, 8, 8}), short_k(bf16, {1, 2, 7, 8}), scores(f32, {1, 2, 2, 4, 8}),
      other(f32, {1, 2, 2, 4, 7});
  CHECK(refusal([&] { attend.scores(q.view(), short_k.view(), scores.view()); }) ==
        "error: k has the shape [1, 2, 7, 8], expected [1, 2, 8, 8]; note: make the shapes agree");
  CHECK(refusal([&] { attend.scores(q.view(), q.view(), other.view()); }) ==
        "error: scores has the shape [1, 2, 2, 4, 7], expected [1, 2, 2, 4, 8]; note: make the shapes agree");
}

TEST_CASE("views of other ranks and dtypes are refused before their shapes are read") {
  const auto refusal = [](const auto& work) { return refusal_in(__FILE__, work); };
  AcsrAttention attend(regular(window(3, 0), 8, 8), {.head_dim = 8, .height = 4});
  TestTensor q(bf16, {1, 2, 8, 8}), flat(bf16, {8}), scores(f32, {1, 2, 2, 4, 8}), lse(f32, {1, 2, 8});
  CHECK(refusal([&] { attend.scores(flat.view(), q.view(), scores.view()); }) ==
        "error: q has 1 dims and 1 strides, expected 4 of each; note: give q the shape [batch, heads, length, dim]");
  CHECK(refusal([&] { attend.scores(q.view(), View(), scores.view()); }) ==
        "error: k is not set; note: give k a View of bf16 and the shape [batch, heads, length, dim]");
  CHECK(refusal([&] { attend.softmax(lse.view(), scores.view(), lse.view()); }) ==
        "error: scores has 3 dims and 3 strides, expected 5 of each; note: give scores the shape [batch, heads, bands, "
        "rows, keys]");
  CHECK(refusal([&] { attend.softmax(scores.view(), scores.view(), lse.view()); }) ==
        "error: probabilities has dtype f32, expected bf16; note: give probabilities as bf16");
  CHECK(refusal([&] { attend.product(scores.view(), q.view(), q.view()); }) ==
        "error: probabilities has dtype f32, expected bf16; note: give probabilities as bf16");
}
