// expect: store: the value and the output have different axes
#include "program.h"

void wrong(Args<traced> a, Tile<f32, Query, Key> p) { store(a.sums, p); }
