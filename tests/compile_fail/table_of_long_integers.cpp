// expect: a Table is made of a std::vector<int> or a std::vector<float>: convert the values
#include <tessera/dsl/lang/lang.h>

using namespace tessera;

std::vector<std::int64_t> ids(64);
Table wrong(ids);
