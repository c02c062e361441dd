// expect: % is for i32 values
#include "program.h"

Tile<f32, Query> wrong(Tile<f32, Query> x, Tile<f32, Query> y) { return x % y; }
