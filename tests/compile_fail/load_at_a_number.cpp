// expect: load is given the loop's tile, which is what the body of loop<Key> and over<Key> takes first: load(a.k, t)
#include "program.h"
void wrong(Args<traced> a) {
  loop(0, 4, [&](Tile<i32> i) { load(a.k, i); });
}
