// expect: this body has other parameters: without a state it takes
#include "program.h"

void wrong(Mask mask) {
  over<Key>(mask, [](KeyTile, State s) { return s; });
}
