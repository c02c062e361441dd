// expect: arithmetic on a condition: use where(condition, a, b) or cast<f32>(condition)
#include "program.h"

Tile<i1, Query> wrong(Tile<i1, Query> x, Tile<i1, Query> y) { return x + y; }
