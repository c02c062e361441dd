// expect: the body must return the carried struct that it was given
#include <tessera/dsl/lang/lang.h>
using namespace tessera;

template <class Stage>
struct Args {
  TESSERA_STRUCT(Args, (In<Stage, bf16, Query, Depth>, q), (In<Stage, bf16, Key, Depth>, k), (In<Stage, bf16, Key, Value>, v),
                 (Out<Stage, f32, Query>, sums), (Scalar<Stage, f32>, scale));
};
struct State {
  TESSERA_STRUCT(State, (Tile<f32, Query>, sum), (Tile<f32, Query>, best));
};


struct Other {
  TESSERA_STRUCT(Other, (Tile<f32, Query>, sum), (Tile<f32, Query>, best));
};
void wrong(Mask mask) {
  over<Key>(mask, State{0, lowest}, [](KeyTile, State s) { return Other{s.sum, s.best}; });
}
