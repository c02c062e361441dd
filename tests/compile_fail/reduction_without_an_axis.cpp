// expect: a reduction names the axis that it is over: reduce_sum<Key>(x)
#include "program.h"
Tile<f32, Query> wrong(Tile<f32, Query, Key> x) { return reduce_sum(x); }
