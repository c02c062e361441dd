// Forward attention: softmax(scores(Q K^T * scale), where the mask allows) V, with a running maximum and sum, so that
// the scores of a query tile exist one key tile at a time.
//
// A row that sees no key has O = 0 and LSE = -inf: its maximum stays at `lowest` and its sum at 0, and no -inf is ever
// subtracted from another. Exponentials are base 2; without scores the factor log2(e) joins the scale.
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
                 (Optional<Out<Stage, f32, Query>>, lse),  // natural logarithm
                 (Scalar<Stage, f32>, scale),
                 (Optional<Lookup<Stage, i32, 1>>, key_lengths));  // keys that exist, per batch
};

struct ForwardOptions {
  bool lse = false;
  bool key_lengths = false;
};

inline const auto forward =
    kernel("forward", grid<Query, Head, Batch>,
           []<DType T>(ForwardArgs<traced, T> a, Mask mask, Scores scores, ForwardOptions options) {
             Tile<T, Query, Depth> q = load(a.q);
             UpTo keys = options.key_lengths ? up_to(a.key_lengths[index<Batch>()]) : up_to();

             auto end = over<Key>(mask, keys, OnlineSoftmax{lowest, 0, 0}, [&](KeyTile t, OnlineSoftmax s) {
               Tile<f32, Query, Key> raw = dot(q, load(a.k, t));
               Tile<f32, Query, Key> score =
                   scores.empty() ? let(raw * (a.scale * log2e)) : let(apply(scores, t, raw * a.scale) * log2e);
               Tile<f32, Query, Key> x = where(t.allowed, score, -inf);
               Tile<f32, Query> m = max(s.row_max, reduce_max<Key>(x));
               Tile<f32, Query> r = exp2(s.row_max - m);
               Tile<f32, Query, Key> p = exp2(x - m);
               return OnlineSoftmax{m, s.row_sum * r + reduce_sum<Key>(p), s.acc * r + dot(cast<T>(p), load(a.v, t))};
             });

             store(a.o, cast<T>(where(end.row_sum > 0, end.acc / end.row_sum, 0)));
             if (options.lse) store(a.lse, (end.row_max + log2(end.row_sum)) * ln2);
           });

}  // namespace tessera
