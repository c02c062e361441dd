// Attention over a mask in ACSR in three steps that can be called alone: scores (R-SDDMM), their softmax, and the
// weighted sum of values (R-SpMM). For one call that keeps no scores, and for any mask, there is Attention.
//
//   AcsrAttention attend(acsr, {.dtype = bf16, .head_dim = 64});
//   ... memory for scores (f32) and probabilities (bf16) of shape attend.values_shape(batch, heads)
//   attend.scores(q, k, scores);  attend.softmax(scores, probabilities, lse);  attend.product(probabilities, v, o);
//
// The programs run where the views' memory is. One AcsrAttention is used by one thread at a time.
#pragma once

#include <memory>
#include <optional>

#include <tessera/dsl/ir/arguments.h>
#include <tessera/library/acsr/layout.h>

namespace tessera {

struct AcsrOptions {
  DType dtype = DType::bf16;  // of q, k, v, probabilities and o: f16 or bf16; scores and sums are in f32
  int head_dim = 0;
  int value_dim = 0;                 // 0: head_dim
  std::optional<double> scale = {};  // of the scores; none: 1 / sqrt(head_dim)
  int height = 64;                   // rows of a band
  int key_tile = 64;                 // keys of a tile
};

class TESSERA_API AcsrAttention {
 public:
  AcsrAttention(Acsr acsr, AcsrOptions options, SourceLoc loc = SourceLoc::here());
  ~AcsrAttention();
  AcsrAttention(AcsrAttention&&) noexcept;
  AcsrAttention& operator=(AcsrAttention&&) noexcept;

  const Acsr& acsr() const;
  const AcsrLayout& layout() const;

  // Of scores and probabilities: batch, heads, bands, rows of a band, keys of a band; the last is rounded up to a
  // multiple of 8, so that rows begin where tensor cores read. Element (b, h, i, r, c) is row bands[i].row + r *
  // row_step and key bands[i].key + c * key_step.
  std::vector<std::int64_t> values_shape(std::int64_t batch, std::int64_t heads) const;

  // q, k, v, o: [batch, heads, length, dim], with k and v of as many heads as q or fewer; lse: f32 [batch, heads,
  // length].
  void scores(const View& q, const View& k, const View& scores, void* stream = nullptr,
              SourceLoc loc = SourceLoc::here());
  void softmax(const View& scores, const View& probabilities, const View& lse, void* stream = nullptr,
               SourceLoc loc = SourceLoc::here());
  void product(const View& probabilities, const View& v, const View& o, void* stream = nullptr,
               SourceLoc loc = SourceLoc::here());

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
