// expect: masks combine with & | ~
#include <tessera/library/patterns.h>

using namespace tessera;

Mask wrong = !causal;
