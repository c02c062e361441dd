// expect: this function needs a floating value: cast<f32>(x)
#include "program.h"

Tile<i32, Query> wrong(Tile<i32, Query> x) { return exp2(x); }
