// expect: store: the value has another dtype than the output: cast it
#include "program.h"

void wrong(Args<traced> a, Tile<f32, Query> x) { store(a.sums, cast<bf16>(x)); }
