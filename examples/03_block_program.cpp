// Lesson 3. A kernel of your own: a program for one tile, with axes that have names. There is no thread index, no
// barrier and no shared memory in it; where its tiles lie and how they get there is the compiler's business.
#include <cstdio>

#include <tessera/tessera.h>

#include "support.h"

using namespace tessera;

namespace {

// What the kernel is called with. SigmoidArgs<traced, T> stands for values of the program, SigmoidArgs<bound, T> holds
// the memory and numbers of a call.
template <class Stage, DType T>
struct SigmoidArgs {
  TESSERA_STRUCT(SigmoidArgs, (In<Stage, T, Query, Depth>, q), (In<Stage, T, Key, Depth>, k),
                 (In<Stage, T, Key, Value>, v), (Out<Stage, T, Query, Value>, o), (Scalar<Stage, f32>, scale));
};

// Attention with a sigmoid in place of the softmax: every score is weighted on its own, nothing is normalised.
const auto sigmoid_attention = kernel(grid<Query, Head, Batch>, []<DType T>(SigmoidArgs<traced, T> a, Mask mask) {
  Tile<T, Query, Depth> q = load(a.q);
  Tile<f32, Query, Value> zero = 0;
  auto sum = over<Key>(mask, zero, [&](KeyTile t, Tile<f32, Query, Value> acc) {
    Tile<f32, Query, Key> score = dot(q, load(a.k, t)) * a.scale;
    Tile<f32, Query, Key> weight = where(t.allowed, 1 / (1 + exp(-score)), 0);
    return let(acc + dot(cast<T>(weight), load(a.v, t)));
  });
  store(a.o, cast<T>(sum));
});

// One row of the definition: the sum of sigmoid(scale q.k) v over the keys up to the query's own.
std::vector<double> by_definition(const example::Tensor& q, const example::Tensor& k, const example::Tensor& v,
                                  std::int64_t head, std::int64_t query, double scale) {
  std::vector<double> sum(static_cast<std::size_t>(v.dim), 0.0);
  const auto q_row = q.row(head, query);
  for (std::int64_t key = 0; key <= query; ++key) {
    const double weight = 1 / (1 + std::exp(-scale * example::dot(q_row, k.row(head, key))));
    const auto v_row = v.row(head, key);
    for (std::size_t d = 0; d < sum.size(); ++d) sum[d] += weight * v_row[d];
  }
  return sum;
}

}  // namespace

int main() {
  // The lambda runs once, for these element types and this mask; what it did is a program without sizes. A Program
  // gives it tiles, and plans it for the lengths of each call.
  Program program(sigmoid_attention.named("sigmoid").trace<bf16>(Mask(causal)),
                  {.tiles = {{"Query", 128}, {"Key", 128}}, .whole = {{"Depth", 64}, {"Value", 64}}});

  auto q = example::Tensor::random(2, 300, 64, 1), k = example::Tensor::random(2, 300, 64, 2);
  auto v = example::Tensor::random(2, 300, 64, 3), o = example::Tensor(2, 300, 64);
  program(SigmoidArgs<bound, bf16>{.q = q.view(), .k = k.view(), .v = v.view(), .o = o.view(), .scale = 0.125});

  // As written, and with its tiles: a loop over those that need no predicate, and one over those on the diagonal.
  std::puts(program.ir(ir::Stage::traced).c_str());
  std::puts(program.ir(ir::Stage::tiled).c_str());

  // Relative to the result's own size: weights and outputs are rounded to bf16, by at most 1/256 each.
  double wrong = 0, size = 0;
  for (std::int64_t query = 0; query < 300; ++query) {
    const auto exact = by_definition(q, k, v, 1, query, 0.125), got = o.row(1, query);
    for (std::size_t d = 0; d < exact.size(); ++d) {
      wrong += (got[d] - exact[d]) * (got[d] - exact[d]);
      size += exact[d] * exact[d];
    }
  }
  const double error = std::sqrt(wrong / size);
  std::printf("relative error against fp64: %.2e\n", error);
  example::check(error < 1.0 / 256, "the definition, to the precision of bf16");
}
