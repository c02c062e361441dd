// Forward attention: softmax(scores(Q K^T * scale), where the mask allows) V, with a running maximum and sum, so that
// the scores of a query tile exist one key tile at a time.
//
// A row that sees no key has O = 0 and LSE = -inf: its maximum stays at `lowest` and its sum at 0, and no -inf is ever
// subtracted from another. Exponentials are base 2. Scores stay in their own unit until the exponential, where the
// conversion is one fused multiply-add; the row maximum is converted alone, which the unit's being positive allows.
//
// forward_after sees the rest of the keys, after a pass over others, and joins what it finds with O and LSE of that
// pass: weights of exp(LSE - maximum), as merge.h has them. A row that one of both leaves alone is the other's.
#pragma once

#include <tessera/dsl/lang/lang.h>

namespace tessera {

struct OnlineSoftmax {
  TESSERA_STRUCT(OnlineSoftmax, (Tile<f32, Query>, row_max),  // of the scores so far, in units of log2
                 (Tile<f32, Query>, row_sum),                 // of exp2(score - row_max)
                 (Tile<f32, Query, Value>, acc));             // of exp2(score - row_max) times V
};

template <class Stage, DType T>
struct ForwardArgs {
  TESSERA_STRUCT(ForwardArgs, (In<Stage, T, Query, Depth>, q), (In<Stage, T, Key, Depth>, k),
                 (In<Stage, T, Key, Value>, v), (Out<Stage, T, Query, Value>, o),
                 (Optional<Out<Stage, f32, Query>>, lse),          // natural logarithm
                 (Scalar<Stage, f32>, scale),                      // > 0
                 (Optional<Lookup<Stage, i32, 1>>, key_lengths));  // keys that exist, per batch
};

struct ForwardOptions {
  bool lse = false;
  bool key_lengths = false;
  int query_factor = 1;  // of the queries: -1 or 0 where the scale is not positive, which then is its size, or 1
};

// `earlier_o` and `earlier_lse` may be o and lse: a row is read before it is written, and by nobody else.
template <class Stage, DType T>
struct ForwardAfterArgs {
  TESSERA_STRUCT(ForwardAfterArgs, (In<Stage, T, Query, Depth>, q), (In<Stage, T, Key, Depth>, k),
                 (In<Stage, T, Key, Value>, v), (Out<Stage, T, Query, Value>, o),
                 (Optional<Out<Stage, f32, Query>>, lse), (Scalar<Stage, f32>, scale),
                 (Optional<Lookup<Stage, i32, 1>>, key_lengths), (In<Stage, T, Query, Value>, earlier_o),
                 (In<Stage, f32, Query>, earlier_lse));
};

// What the keys of the mask give, for the arguments of either.
template <DType T, class Args>
OnlineSoftmax over_keys(const Args& a, Mask mask, Scores scores, ForwardOptions options) {
  Tile<T, Query, Depth> q = load(a.q);
  if (options.query_factor != 1) q = cast<T>(cast<f32>(q) * options.query_factor);
  UpTo keys = options.key_lengths ? up_to(a.key_lengths[index<Batch>()]) : up_to();
  Tile<f32> unit = scores.empty() ? let(max(a.scale * log2e, 1e-30)) : Tile<f32>(log2e);  // of scores below, in log2

  return over<Key>(mask, keys, OnlineSoftmax{lowest, 0, 0}, [&](KeyTile t, OnlineSoftmax s) {
    Tile<f32, Query, Key> raw = dot(q, load(a.k, t));
    Tile<f32, Query, Key> x = where(t.allowed, scores.empty() ? raw : apply(scores, t, raw * a.scale), -inf);
    Tile<f32, Query> m = max(s.row_max, reduce_max<Key>(x) * unit);
    Tile<f32, Query> r = exp2(s.row_max - m);
    Tile<f32, Query, Key> p = exp2(x * unit - m);
    return OnlineSoftmax{m, s.row_sum * r + reduce_sum<Key>(p), s.acc * r + dot(cast<T>(p), load(a.v, t))};
  });
}

template <DType T, class Args>
void store_rows(const Args& a, const OnlineSoftmax& end, ForwardOptions options) {
  store(a.o, cast<T>(where(end.row_sum > 0, end.acc / end.row_sum, 0)));
  if (options.lse) store(a.lse, (end.row_max + log2(end.row_sum)) * ln2);
}

inline const auto forward =
    kernel("forward", grid<Query, Head, Batch>,
           []<DType T>(ForwardArgs<traced, T> a, Mask mask, Scores scores, ForwardOptions options) {
             store_rows<T>(a, over_keys<T>(a, mask, scores, options), options);
           });

inline const auto forward_after =
    kernel("forward_after", grid<Query, Head, Batch>,
           []<DType T>(ForwardAfterArgs<traced, T> a, Mask mask, Scores scores, ForwardOptions options) {
             OnlineSoftmax end = over_keys<T>(a, mask, scores, options);
             Tile<f32, Query> lse = load(a.earlier_lse);
             Tile<f32, Query> before = where(lse > -inf, lse * log2e, lowest);
             Tile<f32, Query> m = max(end.row_max, before);
             Tile<f32, Query> r = exp2(end.row_max - m);
             Tile<f32, Query> weight = where(lse > -inf, exp2(before - m), 0);
             Tile<f32, Query, Value> o = cast<f32>(load(a.earlier_o));
             store_rows<T>(a, OnlineSoftmax{m, end.row_sum * r + weight, end.acc * r + o * weight}, options);
           });

}  // namespace tessera
