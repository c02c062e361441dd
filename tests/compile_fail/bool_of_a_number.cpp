// expect: a kernel value has no truth while it is traced
#include <tessera/dsl/lang/lang.h>

using namespace tessera;

Mask wrong = [](Position q, Position k) {
  bool first = q;
  return first || k > 0;
};
