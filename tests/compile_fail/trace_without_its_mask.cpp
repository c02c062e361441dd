// expect: trace(...) is given what the kernel's lambda takes after its arguments: masks, scores and options
#include "program.h"
auto wrong = kernel(grid<Query>, [](Args<traced> a, Mask mask) { store(a.sums, Tile<f32, Query>(0)); }).trace();
