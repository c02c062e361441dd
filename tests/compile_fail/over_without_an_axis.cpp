// expect: over names the axis that it walks: over<Key>(mask, state, body)
#include "program.h"
void wrong(Mask mask) {
  over(mask, State{0, 0}, [](KeyTile, State s) { return s; });
}
