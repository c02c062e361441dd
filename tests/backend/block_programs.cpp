#include "backend/block_programs.h"

#include <random>

#include <tessera/dsl/lang/lang.h>
#include <tessera/dsl/passes/simplify.h>
#include <tessera/dsl/passes/tile_by_mask.h>

namespace tessera::test {

namespace {

TESSERA_AXIS(Row);
TESSERA_AXIS(Inner);
TESSERA_AXIS(Column);
TESSERA_AXIS(Other);

// The product's right operand is loaded in a branch that only the consumers can decide.
template <class Stage>
struct GatedArgs {
  TESSERA_STRUCT(GatedArgs, (In<Stage, bf16, Row, Inner>, a), (In<Stage, bf16, Inner, Column>, b),
                 (In<Stage, f32, Row, Inner>, gate), (Out<Stage, f32, Row, Column>, c));
};
const auto gated_product = kernel("gated_product", grid<Row>, [](GatedArgs<traced> a) {
  auto sum = loop<Inner>(Tile<f32, Row, Column>(0), [&](TileIndex<Inner> t, Tile<f32, Row, Column> s) {
    Tile<f32, Row, Inner> gate = load(a.gate, t);
    return when(any(gate > 2.9f), s, [&](Tile<f32, Row, Column> acc) {
      return Tile<f32, Row, Column>(acc + dot(load(a.a, t), load(a.b, t)));
    });
  });
  store(a.c, sum);
});

// Nested: an inner branch that everybody can decide, in one that only the consumers can.
const auto doubly_gated = kernel("doubly_gated", grid<Row>, [](GatedArgs<traced> a) {
  auto sum = loop<Inner>(Tile<f32, Row, Column>(0), [&](TileIndex<Inner> t, Tile<f32, Row, Column> s) {
    Tile<f32, Row, Inner> gate = load(a.gate, t);
    return when(any(gate > 2.9f), s, [&](Tile<f32, Row, Column> acc) {
      return when(length<Inner>() > 100, acc, [&](Tile<f32, Row, Column> inner) {
        return Tile<f32, Row, Column>(inner + dot(load(a.a, t), load(a.b, t)));
      });
    });
  });
  store(a.c, sum);
});

template <class Stage>
struct ChainArgs {
  TESSERA_STRUCT(ChainArgs, (In<Stage, f16, Row, Inner>, x), (In<Stage, f16, Inner, Other>, first),
                 (In<Stage, f16, Other, Column>, second), (Out<Stage, f32, Row, Column>, y));
};
const auto chain = kernel("chain", grid<Row>, [](ChainArgs<traced> a) {
  Tile<f32, Row, Other> h = dot(load(a.x), load(a.first));
  Tile<f16, Row, Other> p = cast<f16>(max(h, 0));
  store(a.y, dot(p, load(a.second)));
});

// A loop in a loop; the left operand is loaded in the inner one.
const auto nested = kernel("nested", grid<Row>, [](ChainArgs<traced> a) {
  auto sum = loop<Other>(Tile<f32, Row, Column>(0), [&](TileIndex<Other> o, Tile<f32, Row, Column> s) {
    auto h = loop<Inner>(Tile<f32, Row, Other>(0), [&](TileIndex<Inner> i, Tile<f32, Row, Other> part) {
      return Tile<f32, Row, Other>(part + dot(load(a.x, i), load(a.first, i, o)));
    });
    return Tile<f32, Row, Column>(s + dot(cast<f16>(h), load(a.second, o)));
  });
  store(a.y, sum);
});

// The second product's operand is loaded before the first one's: its ring is refilled first.
template <class Stage>
struct LateArgs {
  TESSERA_STRUCT(LateArgs, (In<Stage, f16, Row, Inner>, x), (In<Stage, f16, Other, Inner>, keys),
                 (In<Stage, f16, Other, Column>, values), (Out<Stage, f32, Row, Column>, y));
};
const auto values_first = kernel("values_first", grid<Row>, [](LateArgs<traced> a) {
  Tile<f16, Row, Inner> x = load(a.x);
  auto sum = loop<Other>(Tile<f32, Row, Column>(0), [&](TileIndex<Other> t, Tile<f32, Row, Column> s) {
    Tile<f16, Other, Column> values = load(a.values, t);
    Tile<f32, Row, Other> weights = dot(x, load(a.keys, t));
    return Tile<f32, Row, Column>(s + dot(cast<f16>(weights), values));
  });
  store(a.y, sum);
});

template <class Stage>
struct TwoArgs {
  TESSERA_STRUCT(TwoArgs, (In<Stage, bf16, Row, Inner>, a), (In<Stage, bf16, Inner, Column>, b),
                 (In<Stage, bf16, Row, Other>, c), (In<Stage, bf16, Column, Other>, d),
                 (Out<Stage, f32, Row, Column>, y));
};
// Two loops over different tensors, then the first again: its rings go on. `d` is stored the other way round.
const auto two_loops = kernel("two_loops", grid<Row, Column>, [](TwoArgs<traced> a) {
  const auto ab = [&](TileIndex<Inner> t, Tile<f32, Row, Column> s) {
    return Tile<f32, Row, Column>(s + dot(load(a.a, t), load(a.b, t)));
  };
  auto sum = loop<Inner>(Tile<f32, Row, Column>(0), ab);
  sum = loop<Other>(sum, [&](TileIndex<Other> t, Tile<f32, Row, Column> s) {
    return Tile<f32, Row, Column>(s - dot(load(a.c, t), load(a.d, t)));
  });
  store(a.y, loop<Inner>(sum, ab));
});

template <class Stage>
struct StateArgs {
  TESSERA_STRUCT(StateArgs, (In<Stage, bf16, Key, Depth>, k), (In<Stage, bf16, Key, Value>, v),
                 (Out<Stage, f32, Depth, Value>, state), (Out<Stage, f32, Depth>, sums));
};
// The rows of the products are a whole axis, and the left operand has them as its columns in memory.
const auto key_value_state = kernel("key_value_state", grid<Head, Batch>, [](StateArgs<traced> a) {
  auto sum = loop<Key>(Tile<f32, Depth, Value>(0), [&](TileIndex<Key> t, Tile<f32, Depth, Value> s) {
    return Tile<f32, Depth, Value>(s + dot(load(a.k, t), load(a.v, t)));
  });
  store(a.state, sum);
  store(a.sums, reduce_sum<Value>(sum));
});

template <class Stage>
struct TwiceArgs {
  TESSERA_STRUCT(TwiceArgs, (In<Stage, bf16, Row, Inner>, x), (In<Stage, bf16, Key, Inner>, k),
                 (Out<Stage, f32, Row, Inner>, y), (Out<Stage, f32, Row>, norms));
};
// One load is the right operand of two products, which contract different axes of it; another is both a product's
// operand and read by arithmetic.
const auto twice = kernel("twice", grid<Row>, [](TwiceArgs<traced> a) {
  Tile<bf16, Row, Inner> x = load(a.x);
  auto sum = loop<Key>(Tile<f32, Row, Inner>(0), [&](TileIndex<Key> t, Tile<f32, Row, Inner> s) {
    Tile<bf16, Key, Inner> k = load(a.k, t);
    Tile<f32, Row, Key> scores = dot(x, k);
    return Tile<f32, Row, Inner>(s + dot(cast<bf16>(scores * 0.125f), k));
  });
  store(a.y, sum);
  Tile<f32, Row, Inner> wide = cast<f32>(x);
  store(a.norms, reduce_sum<Inner>(wide * wide));
});

BlockProgram program(std::string name, std::function<Traced()> trace, std::vector<AxisTile> tiles,
                     std::vector<AxisTile> whole, std::vector<BlockProgram::Tensor> tensors, double tolerance = 1e-5) {
  ProgramOptions options;
  options.tiles = std::move(tiles);
  options.whole = std::move(whole);
  options.target = "sm_90a";
  return {std::move(name), std::move(trace), std::move(options), std::move(tensors), tolerance};
}

}  // namespace

ir::Kernel BlockProgram::tiled() const {
  passes::Tiling tiling;
  for (const AxisTile& tile : options.tiles) tiling.tiles.push_back({ir::Axis::named(tile.axis), tile.extent});
  for (const AxisTile& whole : options.whole) tiling.whole.push_back({ir::Axis::named(whole.axis), whole.extent});
  return passes::simplify(passes::tile_by_mask(passes::simplify(trace().kernel), nullptr, tiling));
}

const std::vector<BlockProgram>& block_programs() {
  constexpr DType b = DType::bf16, h = DType::f16, f = DType::f32;
  static const std::vector<BlockProgram> programs = {
      program("a product in a branch on tiles", [] { return gated_product.trace(); }, {{"Row", 64}, {"Inner", 32}},
              {{"Column", 72}}, {{b, {130, 168}}, {b, {168, 72}}, {f, {130, 168}}, {f, {130, 72}}}),
      program("a branch in a branch on tiles", [] { return doubly_gated.trace(); }, {{"Row", 64}, {"Inner", 32}},
              {{"Column", 72}}, {{b, {130, 168}}, {b, {168, 72}}, {f, {130, 168}}, {f, {130, 72}}}),
      program(
          "two products in sequence", [] { return chain.trace(); }, {{"Row", 128}},
          {{"Inner", 64}, {"Other", 80}, {"Column", 72}},
          {{h, {200, 64}}, {h, {64, 80}}, {h, {80, 72}}, {f, {200, 72}}}, 2e-3),
      program(
          "a loop in a loop", [] { return nested.trace(); }, {{"Row", 128}, {"Inner", 64}, {"Other", 48}},
          {{"Column", 72}}, {{h, {200, 152}}, {h, {152, 104}}, {h, {104, 72}}, {f, {200, 72}}}, 2e-2),
      program(
          "values before keys", [] { return values_first.trace(); }, {{"Row", 128}, {"Other", 64}},
          {{"Inner", 64}, {"Column", 72}}, {{h, {200, 64}}, {h, {330, 64}}, {h, {330, 72}}, {f, {200, 72}}}, 2e-2),
      program("two loops, and the first again", [] { return two_loops.trace(); },
              {{"Row", 128}, {"Column", 64}, {"Inner", 64}, {"Other", 32}}, {},
              {{b, {190, 168}}, {b, {168, 72}}, {b, {190, 88}}, {b, {72, 88}}, {f, {190, 72}}}),
      program("rows of a whole axis", [] { return key_value_state.trace(); }, {{"Key", 48}},
              {{"Depth", 128}, {"Value", 40}},
              {{b, {2, 3, 100, 128}}, {b, {2, 3, 100, 40}}, {f, {2, 3, 128, 40}}, {f, {2, 3, 128}}}),
      program(
          "one tile in two products", [] { return twice.trace(); }, {{"Row", 128}, {"Key", 80}}, {{"Inner", 64}},
          {{b, {150, 64}}, {b, {200, 64}}, {f, {150, 64}}, {f, {150}}}, 2e-2),
  };
  return programs;
}

std::vector<TestTensor> tensors_for(const BlockProgram& program, Fill fill) {
  std::vector<TestTensor> tensors;
  std::uint64_t seed = 1;
  for (const BlockProgram::Tensor& t : program.tensors) {
    TestTensor tensor(t.dtype, t.shape);
    tensor.fill_normal(seed++);
    if (fill == Fill::integers) {
      std::mt19937 random(static_cast<unsigned>(seed));
      std::vector<std::int64_t> index(t.shape.size(), 0);
      do tensor.set(index, static_cast<int>(random() % 7) - 3);
      while (next_index(index, t.shape));
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<ir::Argument> arguments_of(const std::vector<TestTensor>& tensors) {
  std::vector<ir::Argument> arguments;
  for (const TestTensor& tensor : tensors) arguments.emplace_back(tensor.view());
  return arguments;
}

}  // namespace tessera::test
