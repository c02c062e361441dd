// expect: a Table is made of a std::vector<int> or a std::vector<float>: convert the values
#include <tessera/dsl/lang/lang.h>

using namespace tessera;

Table<f32> wrong(std::vector<double>{0.5, 0.25});
