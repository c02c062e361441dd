// expect: cast names a dtype of tessera: cast<f32>(x), cast<bf16>(x), cast<i32>(x)
#include "program.h"
Tile<f32, Query> wrong(Tile<bf16, Query> x) { return cast<float>(x); }
