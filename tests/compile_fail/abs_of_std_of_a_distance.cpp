// expect: a kernel value is no C++ number while it is traced: call the functions of tessera, as abs(q - k)
#include <cmath>

#include <tessera/dsl/lang/lang.h>

using namespace tessera;

Mask wrong = [](Position q, Position k) { return std::abs(q - k) < 8; };
