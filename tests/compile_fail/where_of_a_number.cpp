// expect: where: the first operand must be a condition
#include "program.h"

Tile<f32, Query> wrong(Tile<f32, Query> x) { return where(x, x, 0); }
