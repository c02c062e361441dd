// expect: inside a lambda a pattern needs the lengths of the call: causal(q, k, at)
#include <tessera/library/patterns.h>

using namespace tessera;

Mask wrong = [](Position q, Position k) { return causal(q, k) && q - k < 8; };
