// expect: masks combine with & | ~
#include <tessera/dsl/lang/lang.h>

using namespace tessera;

Mask causal = [](Position q, Position k) { return k <= q; };
Mask wrong = causal && [](Position q, Position k) { return q - k < 8; };
