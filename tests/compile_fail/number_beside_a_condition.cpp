// expect: a C++ number beside a condition
#include "program.h"

Mask wrong = [](Position q, Position k) { return (q < k) == 1; };
