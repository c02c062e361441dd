// expect: a kernel value has no truth while it is traced: use when(...) or where(...) instead of if, and min, max
#include "program.h"

Tile<f32, Query> wrong(Tile<f32, Query> x, Tile<f32, Query> y) { return std::max(x, y); }
