// expect: dot contracts the one axis that its operands share
#include "program.h"

Tile<f32> wrong(Args<traced> a) { return dot(load(a.q), load(a.q)); }
