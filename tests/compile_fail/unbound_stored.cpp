// expect: bind this expression to a Tile first
#include "program.h"

void wrong(Args<traced> a, Tile<f32, Query> x) {
  auto square = x * x;
  store(a.sums, square);
}
