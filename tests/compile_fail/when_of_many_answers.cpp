// expect: when needs one answer for the whole tile: any(...) or all(...)
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


void wrong(Tile<f32, Query> x) {
  when(x > 0, x, [](Tile<f32, Query> s) { return s; });
}
