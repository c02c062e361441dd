// expect: this kernel's lambda is a template: name the element types, as in trace<bf16>(...), and the argument struct
#include "program.h"
template <class Stage, DType T>
struct TArgs {
  TESSERA_STRUCT(TArgs, (In<Stage, T, Query>, x), (Out<Stage, T, Query>, y));
};
auto wrong = kernel(grid<Query>, []<DType T>(TArgs<traced, T> a) { store(a.y, load(a.x)); }).trace();
