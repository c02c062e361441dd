// expect: the body returns an expression, and the carried state is bound: return let(...), or the state's struct
#include "program.h"
void wrong(Args<traced> a, Mask mask, Tile<bf16, Query, Depth> q) {
  over<Key>(mask, Tile<f32, Query>(0),
            [&](KeyTile t, Tile<f32, Query> acc) { return acc + reduce_sum<Key>(dot(q, load(a.k, t))); });
}
