// expect: store writes an Out argument of the program, and takes it first, as in store(a.o, x)
#include "program.h"
void wrong(Args<traced> a, Tile<f32, Query> x) { store(x, a.sums); }
