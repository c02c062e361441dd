// expect: a Table<i32> is made of a std::vector<int>, a Table<f32> of a std::vector<float>
#include <tessera/dsl/lang/lang.h>

using namespace tessera;

Table<f32> wrong(std::vector<int>{1, 2});
