// expect: a score is a lambda of (ScoreValue s, Position q, Position k)
#include <tessera/dsl/lang/lang.h>

using namespace tessera;

Score wrong = [](Position q, Position k) { return k <= q; };
