// expect: the carried state has the axis that the loop walks in tiles
#include "program.h"

void wrong(Mask mask, Tile<f32, Query, Key> x) {
  over<Key>(mask, x, [](KeyTile, Tile<f32, Query, Key> s) { return s; });
}
