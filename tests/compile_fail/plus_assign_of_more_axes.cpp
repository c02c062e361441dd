// expect: the right side has axes that the Tile on the left does not have
#include "program.h"

void wrong(Tile<f32, Query> sum, Tile<f32, Query, Key> x) { sum += x; }
