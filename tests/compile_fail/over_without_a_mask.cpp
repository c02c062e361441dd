// expect: over walks what a mask needs, and takes it first: over<Key>(mask, state, body)
#include "program.h"
void wrong() {
  over<Key>(State{0, 0}, [](KeyTile, State s) { return s; });
}
