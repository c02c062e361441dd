// expect: a kernel value has no truth while it is traced: use when(...) or where(...) instead of if
#include "program.h"

Mask wrong = [](Position q, Position k) {
  Position near = q < k ? q : k;
  return near < 4;
};
