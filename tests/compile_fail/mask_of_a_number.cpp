// expect: a mask returns a condition on its positions: compare the value
#include <tessera/dsl/lang/lang.h>

using namespace tessera;

Table bits(std::vector<int>{1, 0, 0, 1}, 2, 2);
Mask wrong = [](Position q, Position k) { return bits(q, k); };
