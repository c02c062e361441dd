// expect: a mask is a lambda of (Position q, Position k) or (Position q, Position k, At at)
#include <tessera/dsl/lang/lang.h>

using namespace tessera;

Mask wrong = [](Position q, Position k, Position head) { return q + head <= k; };
