// expect: the operands have different dtypes: cast one of them
#include <tessera/dsl/lang/lang.h>

using namespace tessera;

Score wrong = [](ScoreValue s, Position q, Position k) { return s - (q - k); };
