// expect: reduce: the operand does not have the axis to reduce
#include "program.h"

Tile<f32, Query> wrong(Tile<f32, Query, Key> x) { return reduce_sum<Value>(x); }
