// expect: a kernel value is no index of a C++ array while it is traced: put the values in a Table and read it as
// table[q]
#include <array>

#include <tessera/dsl/lang/lang.h>

using namespace tessera;

std::array<int, 64> ids;
Mask wrong = [](Position q, Position k) { return ids[q] == ids[k]; };
