// Attention over ACSR as three programs, in band coordinates: a band is an entry of Batch, its rows are the queries,
// its run of keys the keys. Scores and probabilities are kept, compressed to the bands' rectangles. What one program
// does in registers (forward.h) these write and read again: they are for what needs the scores themselves.
//
// Of a rectangle, tiles without a live pair are neither written nor read.
#pragma once

#include <tessera/dsl/lang/lang.h>

namespace tessera {

// R-SDDMM: the products of queries and keys where the mask allows, -inf elsewhere.
template <class Stage, DType T>
struct AcsrScoresArgs {
  TESSERA_STRUCT(AcsrScoresArgs, (In<Stage, T, Query, Depth>, q), (In<Stage, T, Key, Depth>, k),
                 (Out<Stage, f32, Query, Key>, scores), (Scalar<Stage, f32>, scale));
};
inline const auto acsr_scores =
    kernel("acsr_scores", grid<Query, Head, Batch>, []<DType T>(AcsrScoresArgs<traced, T> a, Mask mask) {
      Tile<T, Query, Depth> q = load(a.q);
      over<Key>(mask, [&](KeyTile t) { store(a.scores, t, where(t.allowed, dot(q, load(a.k, t)) * a.scale, -inf)); });
    });

// The softmax of each row's scores, and the logarithm of their sum. A row without a key has no probabilities, and -inf.
struct RowSoftmax {
  TESSERA_STRUCT(RowSoftmax, (Tile<f32, Query>, top), (Tile<f32, Query>, sum));
};
template <class Stage, DType T>
struct AcsrSoftmaxArgs {
  TESSERA_STRUCT(AcsrSoftmaxArgs, (In<Stage, f32, Query, Key>, scores), (Out<Stage, T, Query, Key>, probabilities),
                 (Out<Stage, f32, Query>, lse));
};
inline const auto acsr_softmax =
    kernel("acsr_softmax", grid<Query, Head, Batch>, []<DType T>(AcsrSoftmaxArgs<traced, T> a, Mask mask) {
      auto row = over<Key>(mask, RowSoftmax{lowest, 0}, [&](KeyTile t, RowSoftmax s) {
        Tile<f32, Query, Key> x = where(t.allowed, load(a.scores, t), -inf);
        Tile<f32, Query> top = max(s.top, reduce_max<Key>(x));
        return RowSoftmax{top, s.sum * exp(s.top - top) + reduce_sum<Key>(exp(x - top))};
      });
      over<Key>(mask, [&](KeyTile t) {
        Tile<f32, Query, Key> e = exp(load(a.scores, t) - row.top);
        store(a.probabilities, t, cast<T>(where(t.allowed, e / row.sum, 0)));
      });
      store(a.lse, where(row.sum > 0, row.top + log(row.sum), -inf));
    });

// R-SpMM: the values of the keys, weighted.
template <class Stage, DType T>
struct AcsrProductArgs {
  TESSERA_STRUCT(AcsrProductArgs, (In<Stage, T, Query, Key>, probabilities), (In<Stage, T, Key, Value>, v),
                 (Out<Stage, T, Query, Value>, o));
};
inline const auto acsr_product =
    kernel("acsr_product", grid<Query, Head, Batch>, []<DType T>(AcsrProductArgs<traced, T> a, Mask mask) {
      auto sum = over<Key>(mask, Tile<f32, Query, Value>(0), [&](KeyTile t, Tile<f32, Query, Value> s) {
        t.ignore_mask();  // probabilities are 0 where it does not allow
        return let(s + dot(load(a.probabilities, t), load(a.v, t)));
      });
      store(a.o, cast<T>(sum));
    });

}  // namespace tessera
