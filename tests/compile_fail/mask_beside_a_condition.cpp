// expect: a Mask beside a condition: conditions combine with && || ! inside one mask, masks with & | ~ outside
#include "program.h"
Mask wrong(Mask m) {
  return [m](Position q, Position k) { return m & (k <= q); };
}
