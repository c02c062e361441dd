// expect: the operands have different dtypes: cast one of them
#include "program.h"

Tile<f32, Query> wrong(Tile<f32, Query> x, Tile<bf16, Query> y) { return x + y; }
