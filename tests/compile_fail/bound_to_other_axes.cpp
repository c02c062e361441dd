// expect: this expression has other axes than the Tile it is bound to
#include "program.h"

void wrong(Tile<f32, Query, Key> x) { Tile<f32, Key> m = reduce_max<Key>(x); }
