// expect: an option of a pattern over a grid has one value for each axis of the grid
#include <tessera/library/patterns.h>

using namespace tessera;

Mask wrong = neighborhood(Grid{30, 48, 80}, {.window = {18, 24}});
