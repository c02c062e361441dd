// expect: a kernel value has no truth while it is traced
#include "program.h"

bool wrong(Tile<f32, Query> x) { return x; }
