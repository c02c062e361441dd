// expect: dot multiplies floating tiles: cast them
#include "program.h"

Tile<f32> wrong(Tile<i32, Query> a, Tile<i32, Query> b) { return dot(a, b); }
