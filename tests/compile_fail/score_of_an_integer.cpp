// expect: a score returns the new score, an f32 value: cast it
#include <tessera/dsl/lang/lang.h>

using namespace tessera;

Score wrong = [](ScoreValue s, Position q, Position k) { return q - k; };
