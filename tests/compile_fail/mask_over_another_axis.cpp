// expect: over with a mask walks Key: a mask says which keys the program's queries need
#include "program.h"

Tile<f32, Key> wrong(const Mask& mask, Tile<f32, Key> x) {
  return over<Query>(mask, x, [](QueryTile, Tile<f32, Key> s) { return s; });
}
