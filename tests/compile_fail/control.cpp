// expect: nothing
#include <tessera/library/forward.h>
using namespace tessera;

Mask causal = [](Position q, Position k) { return k <= q; };
Traced program() { return forward.trace<bf16>(causal, Scores{}, ForwardOptions{.lse = true}); }
