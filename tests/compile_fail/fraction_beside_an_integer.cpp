// expect: a fractional C++ number beside an i32 value
#include "program.h"

Mask wrong = [](Position q, Position k) { return q - k < 0.5; };
