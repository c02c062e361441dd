// expect: a Table is read at one position, inside a mask or score (a kernel reads a Lookup argument)
#include <tessera/dsl/lang/lang.h>

using namespace tessera;

Table doc(std::vector<int>{0, 0, 1, 1});
Tile<i32, Query> wrong() { return doc[positions<Query>()]; }
