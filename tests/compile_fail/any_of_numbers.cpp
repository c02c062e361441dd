// expect: any and all are for conditions: compare the value first
#include "program.h"

Tile<i1> wrong(Tile<f32, Query, Key> x) { return any(x); }
