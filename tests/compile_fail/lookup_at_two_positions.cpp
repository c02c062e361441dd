// expect: a Lookup is read at as many positions as it has dimensions
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


Tile<i32> wrong(Lookup<traced, i32, 1> lengths, Position b) { return lengths(b, b); }
