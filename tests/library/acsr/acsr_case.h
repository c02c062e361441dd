// Attention over an ACSR by R-SDDMM, softmax and R-SpMM, against fp64 step by step: on the interpreter and on a GPU.
#pragma once

#include <cmath>

#include <doctest/doctest.h>

#include <tessera/library/acsr/acsr_attention.h>

#include "library/attention_case.h"

namespace tessera::test {

struct AcsrProblem {
  std::int64_t batch = 1, heads = 2, kv_heads = 1;
  int depth = 16, value_depth = 24, height = 16, key_tile = 16;
  DType dtype = DType::bf16;
  TensorOptions layout = {};
};

// `on` says where: View on(TestTensor&) is the tensor as a call takes it, and on.finish() brings all of them back.
template <class On>
void check_acsr(On on, const Acsr& acsr, const AcsrProblem& s) {
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

  const View on_scores = on(scores), on_probabilities = on(probabilities), lse = on(t.lse);
  attend.scores(on(t.q), on(t.k), on_scores);
  attend.softmax(on_scores, on_probabilities, lse);
  attend.product(on_probabilities, on(t.v), on(t.o));
  on.finish();

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

  const Result exact = attention_fp64(t.problem(c));
  const Tolerance allowed = tolerance(t.problem(c), exact);
  CHECK(max_difference(t.lse.values(), exact.lse) <= allowed.lse);
  CHECK(max_difference(t.o.values(), exact.o) <= 2 * allowed.o + 0x1p-8);
  for (const TestTensor* tensor : {&t.q, &t.k, &t.v, &t.o, &t.lse, &scores, &probabilities})
    CHECK(tensor->guards_intact());
}

}  // namespace tessera::test
