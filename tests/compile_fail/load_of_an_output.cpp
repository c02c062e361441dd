// expect: load reads an In argument of the program, as in load(a.q): its kernel takes Args<traced> a
#include "program.h"
Tile<f32, Query> wrong(Args<traced> a) { return load(a.sums); }
