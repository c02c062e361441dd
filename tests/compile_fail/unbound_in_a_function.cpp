// expect: bind this expression to a Tile first
#include "program.h"

Tile<f32, Query> wrong(Tile<f32, Query> x) {
  auto square = x * x;
  return exp2(square);
}
