// expect: this argument does not have the axis of the tile it is given
#include "program.h"

void wrong(Args<traced> a, KeyTile t) { load(a.q, t); }
