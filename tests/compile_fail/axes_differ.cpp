// expect: the operands' axes differ: one side's axes must contain the other's
#include "program.h"

Tile<f32, Query, Key> wrong(Tile<f32, Query> row, Tile<f32, Key> column) { return row + column; }
