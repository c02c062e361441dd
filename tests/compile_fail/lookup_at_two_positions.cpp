// expect: a Lookup is read at as many positions as it has dimensions
#include "program.h"

Tile<i32> wrong(Lookup<traced, i32, 1> lengths, Position b) { return lengths(b, b); }
