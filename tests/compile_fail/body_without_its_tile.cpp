// expect: this body has other parameters: it takes the loop's tile or index
#include "program.h"

void wrong(Mask mask) {
  over<Key>(mask, State{0, lowest}, [](State s) { return s; });
}
