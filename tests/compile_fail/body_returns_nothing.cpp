// expect: the body must return the carried state that it was given, of the same type
#include "program.h"

void wrong(Mask mask) {
  over<Key>(mask, State{0, lowest}, [](KeyTile, State s) { s.sum += 1; });
}
