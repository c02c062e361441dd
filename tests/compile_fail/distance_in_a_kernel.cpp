// expect: the operands' axes differ: one side's axes must contain the other's
#include "program.h"

Tile<i32, Query, Key> wrong(KeyTile t) { return positions<Query>() - positions(t); }
