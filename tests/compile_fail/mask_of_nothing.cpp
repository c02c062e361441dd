// expect: a mask returns a condition on its positions, as in k <= q
#include <tessera/dsl/lang/lang.h>

using namespace tessera;

Mask wrong = [](Position q, Position k) { return "near"; };
