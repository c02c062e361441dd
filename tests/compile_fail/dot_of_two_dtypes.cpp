// expect: the operands have different dtypes: cast one of them
#include "program.h"

Tile<f32, Query, Value> wrong(Args<traced> a, KeyTile t, Tile<f32, Query, Key> p) { return dot(p, load(a.v, t)); }
