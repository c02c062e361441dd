// expect: the body must return the carried state that it was given, of the same type
#include "program.h"

struct Other {
  TESSERA_STRUCT(Other, (Tile<f32, Query>, sum), (Tile<f32, Query>, best));
};
void wrong(Mask mask) {
  over<Key>(mask, State{0, lowest}, [](KeyTile, State s) { return Other{s.sum, s.best}; });
}
