// expect: the fields of kernel arguments are In, Out, Scalar, Lookup or Optional of one
#include "program.h"

struct Numbers {
  TESSERA_STRUCT(Numbers, (int, n));
};
auto wrong = kernel(grid<Query>, [](Numbers) {}).trace();
