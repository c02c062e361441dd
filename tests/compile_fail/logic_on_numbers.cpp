// expect: combine conditions: compare the value first
#include "program.h"

Tile<i1, Query> wrong(Tile<i32, Query> x, Tile<i32, Query> y) { return x && y; }
