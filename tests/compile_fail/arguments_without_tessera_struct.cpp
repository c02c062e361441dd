// expect: the arguments of a kernel are a struct template declared by TESSERA_STRUCT
#include "program.h"
template <class Stage>
struct Plain {
  In<Stage, f32, Query, Depth> q;
  Out<Stage, f32, Query> o;
};
auto wrong = kernel(grid<Query>, [](Plain<traced> a) { store(a.o, reduce_sum<Depth>(load(a.q))); }).trace();
