// expect: a table of several dimensions is read by table(q, k)
#include <tessera/dsl/lang/lang.h>

using namespace tessera;

Table bits(std::vector<int>{1, 0, 0, 1}, 2, 2);
Mask wrong = [](Position q, Position k) { return bits[k] != 0; };
