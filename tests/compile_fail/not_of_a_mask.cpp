// expect: masks combine with & | ~
#include <tessera/dsl/lang/lang.h>

using namespace tessera;

Mask recent = [](Position q, Position k) { return k <= q; };
Mask wrong = !recent;
