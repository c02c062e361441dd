// expect: a kernel value is no index of a C++ array while it is traced: put the values in a Table and read it as
// table[q]
#include <vector>

#include <tessera/dsl/lang/lang.h>

using namespace tessera;

std::vector<int> ids(64);
Mask wrong = [ids = ids](Position q, Position k) { return ids[q] == ids[k]; };
