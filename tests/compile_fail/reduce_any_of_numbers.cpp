// expect: reduce_any and reduce_all are for conditions
#include "program.h"

Tile<f32, Query> wrong(Tile<f32, Query, Key> x) { return reduce_any<Key>(x); }
