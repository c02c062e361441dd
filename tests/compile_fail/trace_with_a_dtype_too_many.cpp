// expect: this kernel's lambda does not take these element types: trace() without any
#include "program.h"
auto wrong = kernel(grid<Query>, [](Args<traced> a) { store(a.sums, Tile<f32, Query>(0)); }).trace<bf16>();
