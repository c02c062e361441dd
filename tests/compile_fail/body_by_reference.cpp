// expect: then the carried state, both by value
#include "program.h"
void wrong(Mask mask) {
  over<Key>(mask, State{0, 0}, [](KeyTile t, State& s) { return s; });
}
