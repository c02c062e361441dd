// expect: the axes of a Tile are different from each other
#include "program.h"

void wrong(Tile<f32, Query, Query>) {}
auto use = wrong(0);
