// expect: dot contracts the one axis that its operands share
#include "program.h"

Tile<f32, Query, Key> wrong(Args<traced> a, KeyTile t) { return dot(load(a.q), load(a.v, t)); }
