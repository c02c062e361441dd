// expect: this expression has another dtype than the Tile it is bound to: cast it
#include "program.h"

void wrong(Tile<f32, Query> x) { Tile<bf16, Query> y = x * 2.0; }
