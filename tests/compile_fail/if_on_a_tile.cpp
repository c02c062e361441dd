// expect: a kernel value has no truth while it is traced: use when(...) or where(...) instead of if
#include "program.h"

Tile<f32, Query> wrong(Tile<f32, Query> x) {
  if (x > 0) return x;
  return -x;
}
