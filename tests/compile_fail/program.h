// Arguments and a carried state for the wrong programs of this folder.
#pragma once

#include <tessera/dsl/lang/lang.h>

using namespace tessera;

template <class Stage>
struct Args {
  TESSERA_STRUCT(Args, (In<Stage, bf16, Query, Depth>, q), (In<Stage, bf16, Key, Depth>, k),
                 (In<Stage, bf16, Key, Value>, v), (Out<Stage, f32, Query>, sums), (Scalar<Stage, f32>, scale));
};
struct State {
  TESSERA_STRUCT(State, (Tile<f32, Query>, sum), (Tile<f32, Query>, best));
};
