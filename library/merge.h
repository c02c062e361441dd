// Attention over parts of the keys, put together: the output and LSE of each part are all that is needed.
//
//   LSE = log(sum exp(LSE_i)),  O = sum O_i exp(LSE_i - LSE)
//
// A part without a live key has LSE = -inf and does not count, whatever its O holds. Merging with such a part gives the
// other one bit for bit; merging only such parts gives O = 0, LSE = -inf. LSE is the natural logarithm.
#pragma once

#include <vector>

#include <tessera/dsl/lang/lang.h>

namespace tessera {

struct Partial {
  View o;    // [batch, heads, queries, value_dim]: f16, bf16 or f32
  View lse;  // f32 [batch, heads, queries]
};

// `out` overlaps none of the parts. Parts of device memory are merged on `stream`, two at a time; of three or more, the
// sums on the way are in memory that is allocated in stream order.
TESSERA_API void merge(const std::vector<Partial>& parts, const Partial& out, void* stream = nullptr,
                       SourceLoc loc = SourceLoc::here());

template <class Stage, DType T>
struct MergeArgs {
  TESSERA_STRUCT(MergeArgs, (In<Stage, T, Query, Value>, left), (In<Stage, f32, Query>, left_lse),
                 (In<Stage, T, Query, Value>, right), (In<Stage, f32, Query>, right_lse),
                 (Out<Stage, T, Query, Value>, o), (Out<Stage, f32, Query>, lse));
};

// Two parts, as a program.
inline constexpr auto merge_two = []<DType T>(MergeArgs<traced, T> a) {
  Tile<f32, Query> l = load(a.left_lse), r = load(a.right_lse);
  Tile<f32, Query> top = max(l, r);
  Tile<f32, Query> base = where(top > -inf, top, 0);  // of two empty parts: no -inf less -inf
  Tile<f32, Query> of_left = exp(l - base), of_right = exp(r - base);
  Tile<f32, Query> sum = of_left + of_right;
  Tile<f32, Query, Value> x = cast<f32>(load(a.left)), y = cast<f32>(load(a.right));
  Tile<f32, Query, Value> both = x * (of_left / sum) + y * (of_right / sum);
  Tile<f32, Query, Value> some = where(of_right > 0, where(of_left > 0, both, y), x);
  store(a.o, cast<T>(where(sum > 0, some, 0)));
  store(a.lse, base + log(sum));
};
inline const auto merge_program = kernel(grid<Query, Head, Batch>, merge_two).named("merge");

}  // namespace tessera
