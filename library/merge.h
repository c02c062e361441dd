// Attention over parts of the keys, put together: the output and LSE of each part are all that is needed.
//
//   LSE = log(sum exp(LSE_i)),  O = sum O_i exp(LSE_i - LSE)
//
// A part without a live key has LSE = -inf and does not count, whatever its O holds: beside such parts alone a part
// stays as it is, bit for bit, and of such parts alone come O = 0, LSE = -inf. LSE is the natural logarithm.
//
// All parts are summed in f32 (f64 in host memory) and O is rounded once, however many there are: a chain of calls with
// two parts each would round to the storage type at every step. Where a chain cannot be avoided, as with parts that
// arrive one by one, its running O is f32 and the parts stay what they are.
#pragma once

#include <vector>

#include <tessera/dsl/lang/lang.h>

namespace tessera {

struct Partial {
  View o;    // [batch, heads, queries, value_dim]: f16, bf16 or f32
  View lse;  // f32 [batch, heads, queries]
};

// Each O is of f32 or of one type of 16 bits. `out` overlaps none of the parts. Parts of device memory are merged on
// `stream` by one kernel that reads each once; more than kMergedAtOnce by groups, whose sums are f32 in memory that is
// allocated in stream order.
TESSERA_API void merge(const std::vector<Partial>& parts, const Partial& out, void* stream = nullptr,
                       SourceLoc loc = SourceLoc::here());

inline constexpr int kMergedAtOnce = 8;

// Of each part an LSE, and O as f32 (w) or as what the parts are stored in (o).
template <class Stage, DType Part, DType Result>
struct MergeArgs {
  using W = Optional<In<Stage, f32, Query, Value>>;
  using O = Optional<In<Stage, Part, Query, Value>>;
  using L = Optional<In<Stage, f32, Query>>;
  TESSERA_STRUCT(MergeArgs, (W, w0), (O, o0), (L, lse0), (W, w1), (O, o1), (L, lse1), (W, w2), (O, o2), (L, lse2),
                 (W, w3), (O, o3), (L, lse3), (W, w4), (O, o4), (L, lse4), (W, w5), (O, o5), (L, lse5), (W, w6),
                 (O, o6), (L, lse6), (W, w7), (O, o7), (L, lse7), (Out<Stage, Result, Query, Value>, o),
                 (Out<Stage, f32, Query>, lse));
};

// `count` parts as a program, the first `wide` of them in f32.
inline constexpr auto merge_parts = []<DType Part, DType Result>(MergeArgs<traced, Part, Result> a, int count,
                                                                 int wide) {
  const decltype(a.w0) w[] = {a.w0, a.w1, a.w2, a.w3, a.w4, a.w5, a.w6, a.w7};
  const decltype(a.o0) o[] = {a.o0, a.o1, a.o2, a.o3, a.o4, a.o5, a.o6, a.o7};
  const decltype(a.lse0) lse[] = {a.lse0, a.lse1, a.lse2, a.lse3, a.lse4, a.lse5, a.lse6, a.lse7};
  std::vector<Tile<f32, Query>> weights;
  for (int i = 0; i < count; ++i) weights.push_back(load(lse[i]));
  Tile<f32, Query> top = weights[0];
  for (int i = 1; i < count; ++i) top = max(top, weights[i]);
  Tile<f32, Query> base = where(top > -inf, top, 0);  // of empty parts alone: no -inf less -inf
  for (Tile<f32, Query>& weight : weights) weight = exp(weight - base);
  Tile<f32, Query> sum = weights[0];
  for (int i = 1; i < count; ++i) sum = sum + weights[i];
  Tile<f32, Query, Value> all = 0;
  Tile<f32, Query> before = 0;  // the weights of the parts in `all`
  for (int i = 0; i < count; ++i) {
    Tile<f32, Query, Value> part = i < wide ? let(load(w[i])) : let(cast<f32>(load(o[i])));
    Tile<f32, Query, Value> share = part * (weights[i] / sum);
    // Not the sum with 0, which would lose a negative zero.
    all = where(weights[i] > 0, where(before > 0, all + share, share), all);
    before = before + weights[i];
  }
  store(a.o, cast<Result>(all));
  store(a.lse, base + log(sum));
};
inline const auto merge_program = kernel(grid<Query, Head, Batch>, merge_parts).named("merge");

}  // namespace tessera
