// expect: the body must return the carried struct that it was given
#include "program.h"

void wrong(Mask mask) {
  over<Key>(mask, State{0, lowest}, [](KeyTile, State s) { s.sum += 1; });
}
