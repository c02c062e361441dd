// expect: this kernel's lambda is a template: name the element types, as in trace<bf16>(...), and the argument struct
#include "program.h"
auto wrong = kernel(grid<Query>, [](auto a) { store(a.sums, Tile<f32, Query>(0)); }).trace();
