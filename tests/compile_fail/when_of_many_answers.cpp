// expect: when needs one answer for the whole tile: any(...) or all(...)
#include "program.h"

void wrong(Tile<f32, Query> x) {
  when(x > 0, x, [](Tile<f32, Query> s) { return s; });
}
