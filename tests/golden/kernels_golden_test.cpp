// Kernels of the library as they are tiled and as they are placed, to be read: what a person would have written.
//
// Texts change with every pass that is added. `ninja update_goldens` in the build directory writes them anew (so does
// this program with UPDATE_GOLDEN=1 in its environment); what is reviewed is the difference.
#include <doctest/doctest.h>

#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/lang/lang.h>
#include <tessera/library/build.h>
#include <tessera/library/patterns.h>
#include <tessera/library/planned.h>

#include "support/golden.h"

using namespace tessera;

namespace {

const backend::Target& target() { return backend::target_named("sm_90a"); }

// <name>_tiled and <name>_placed, the latter with what the backend chooses.
void check_kernel(const std::string& name, const library::Planned& planned) {
  const backend::Schedule schedule = backend::resolve({}, planned.only().tiled, target());
  test::check_golden(name + "_tiled", planned.only().text);
  test::check_golden(name + "_placed", ir::print(backend::place(planned.only().tiled, target(), schedule)));
}

void check_attention(const std::string& name, Mask mask, bool lse) {
  AttentionOptions options{.mask = std::move(mask), .dtype = bf16, .head_dim = 64, .value_dim = 64, .scale = 0.125};
  library::PlanInput input;
  input.shapes = {.heads = 16, .query_length = 32768, .key_length = 32768, .lse = lse};
  input.tile = backend::tile_candidates(options.head_dim, options.value_dim, target())[0].tile;
  check_kernel(name, *library::make_planned(library::trace_attention(options, lse, false), input));
}

TESSERA_AXIS(Row);
TESSERA_AXIS(Inner);
TESSERA_AXIS(Column);

// y = softmax(x) of each row: no product, no shared memory.
template <class Stage>
struct SoftmaxArgs {
  TESSERA_STRUCT(SoftmaxArgs, (In<Stage, bf16, Row, Column>, x), (Out<Stage, bf16, Row, Column>, y));
};
const auto row_softmax = kernel("row_softmax", grid<Row>, [](SoftmaxArgs<traced> a) {
  Tile<f32, Row, Column> x = cast<f32>(load(a.x));
  Tile<f32, Row, Column> p = exp(x - reduce_max<Column>(x));
  store(a.y, cast<bf16>(p / reduce_sum<Column>(p)));
});

// c = relu(a b): the products go through the pipeline, the rest stays in registers.
template <class Stage>
struct LayerArgs {
  TESSERA_STRUCT(LayerArgs, (In<Stage, bf16, Row, Inner>, a), (In<Stage, bf16, Inner, Column>, b),
                 (Out<Stage, bf16, Row, Column>, c));
};
const auto relu_layer = kernel("relu_layer", grid<Row, Column>, [](LayerArgs<traced> a) {
  auto sum = loop<Inner>(Tile<f32, Row, Column>(0), [&](TileIndex<Inner> t, Tile<f32, Row, Column> s) {
    return Tile<f32, Row, Column>(s + dot(load(a.a, t), load(a.b, t)));
  });
  store(a.c, cast<bf16>(max(sum, 0)));
});

ir::Dim dim(const char* axis, int extent) { return {ir::Axis::named(axis), extent}; }

}  // namespace

TEST_CASE("causal attention, d64") { check_attention("causal_d64", causal, false); }

TEST_CASE("attention within a window of 1024, with LSE") { check_attention("window_1024", window(1024, 0), true); }

TEST_CASE("a program of rows") {
  passes::Tiling tiling{.tiles = {dim("Row", 16)}, .whole = {dim("Column", 256)}};
  check_kernel("row_softmax", *library::make_planned(library::plannable(row_softmax.trace(), std::move(tiling)), {}));
}

TEST_CASE("a program of products") {
  passes::Tiling tiling{.tiles = {dim("Row", 128), dim("Column", 128), dim("Inner", 64)}, .whole = {}};
  check_kernel("relu_layer", *library::make_planned(library::plannable(relu_layer.trace(), std::move(tiling)), {}));
}
