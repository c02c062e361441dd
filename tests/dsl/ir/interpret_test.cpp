#include <doctest/doctest.h>

#include <string>

#include "dsl/ir/interpret_kernels.h"
#include "dsl/ir/interpret_support.h"

using namespace tessera;
using namespace tessera::ir;
using namespace tessera::ir::test;

namespace {

const Axis kRow = Axis::named("Row"), kColumn = Axis::named("Column"), kInner = Axis::named("Inner"),
           kHead = Axis::named("Head");

Param tensor(const char* name, ParamKind kind, DType dtype, std::vector<Axis> axes) {
  const int rank = static_cast<int>(axes.size());
  return {name, kind, dtype, std::move(axes), rank};
}

View view(std::vector<float>& data, std::vector<std::int64_t> shape) {
  return View::contiguous(data.data(), DType::f32, std::move(shape));
}
View view(std::vector<std::int32_t>& data, std::vector<std::int64_t> shape) {
  return View::contiguous(data.data(), DType::i32, std::move(shape));
}

// A tiled kernel with one program, one i32 output of `rows` elements, and the code that `body` makes; its result.
std::vector<std::int32_t> run(int rows, const std::function<Value(Builder&)>& body, std::vector<Argument> tables = {},
                              const std::vector<Param>& more = {}) {
  Kernel kernel;
  kernel.name = "probe";
  kernel.stage = Stage::tiled;
  kernel.grid = {kRow};
  kernel.grid_tiles = {{kRow, rows}};
  kernel.params = {tensor("out", ParamKind::output, DType::i32, {kRow})};
  kernel.params.insert(kernel.params.end(), more.begin(), more.end());
  Builder b(kernel, kernel.entry);
  const Value result = body(b), zero = b.constant(0);
  b.store(0, b.type(result).is_scalar() ? b.broadcast(result, {{kRow, rows}}) : result, {&zero, 1});
  std::vector<std::int32_t> out(static_cast<std::size_t>(rows), -999);
  std::vector<Argument> arguments = {view(out, {rows})};
  arguments.insert(arguments.end(), tables.begin(), tables.end());
  interpret(kernel, ir::bind(kernel, arguments));
  return out;
}

}  // namespace

TEST_CASE("loops carry values; a loop without trips gives its initial ones") {
  for (const auto& [lo, hi, wanted] : {std::tuple{0, 5, 10}, {3, 5, 7}, {5, 5, 0}, {5, 3, 0}, {-2, 1, -3}}) {
    const auto out = run(1, [lo = lo, hi = hi](Builder& b) {
      const Value zero = b.constant(0, Type::tile(DType::i32, {{kRow, 1}}));
      return b.loop(b.constant(lo), b.constant(hi), {&zero, 1}, {}, [](Builder& in, std::span<const Value> args) {
        return std::vector<Value>{in.add(args[1], args[0])};
      })[0];
    });
    CHECK(out[0] == wanted);
  }
}

TEST_CASE("carried values may be exchanged") {
  const auto out = run(1, [](Builder& b) {
    const std::vector<Value> init = {b.constant(1, Type::tile(DType::i32, {{kRow, 1}})),
                                     b.constant(2, Type::tile(DType::i32, {{kRow, 1}}))};
    const auto end = b.loop(b.constant(0), b.constant(3), init, {},
                            [](Builder&, std::span<const Value> args) { return std::vector<Value>{args[2], args[1]}; });
    return b.add(b.mul(end[0], b.constant(10, Type::tile(DType::i32, {{kRow, 1}}))), end[1]);
  });
  CHECK(out[0] == 21);
}

TEST_CASE("when runs its region or passes its operands on") {
  for (int n : {0, 1}) {
    const auto out = run(1, [n](Builder& b) {
      const Value init = b.constant(7, Type::tile(DType::i32, {{kRow, 1}}));
      const Value live = b.binary(OpCode::gt, b.length(kRow), b.constant(n));
      return b.when(live, {&init, 1}, {}, [](Builder& in, std::span<const Value> args) {
        return std::vector<Value>{in.add(args[0], args[0])};
      })[0];
    });
    CHECK(out[0] == (n == 0 ? 14 : 7));
  }
}

TEST_CASE("nested loops, and values of outer regions inside inner ones") {
  const auto out = run(4, [](Builder& b) {
    const Value row = b.iota({kRow, 4}), zero = b.constant(0, Type::tile(DType::i32, {{kRow, 4}}));
    return b.loop(b.constant(0), b.constant(3), {&zero, 1}, {}, [&](Builder& outer, std::span<const Value> o) {
      return outer.loop(b.constant(0), o[0], {&o[1], 1}, {}, [&](Builder& inner, std::span<const Value> i) {
        return std::vector<Value>{inner.add(i[1], inner.add(row, o[0]))};
      });
    })[0];
  });
  CHECK(out == std::vector<std::int32_t>{5, 8, 11, 14});  // 1 trip at 1, 2 at 2: 3 row + 1 + 4
}

TEST_CASE("scalars and tables") {
  std::vector<std::int32_t> table = {10, 20, 30};
  const std::vector<Param> params = {{"t", ParamKind::table, DType::i32, {}, 1},
                                     {"n", ParamKind::scalar, DType::i32, {}, 0}};
  const auto out = run(
      5,
      [](Builder& b) {
        const Value at = b.add(b.iota({kRow, 5}), b.scalar(2, DType::i32));
        return b.gather(1, DType::i32, {&at, 1});
      },
      {view(table, {3}), -1.0}, params);
  CHECK(out == std::vector<std::int32_t>{10, 10, 20, 30, 30});
}

TEST_CASE("a tiled matrix product with tails, over a grid of tiles") {
  Kernel kernel;
  kernel.name = "product";
  kernel.stage = Stage::tiled;
  kernel.grid = {kRow, kColumn};
  kernel.grid_tiles = {{kRow, 16}, {kColumn, 8}};
  kernel.params = {tensor("a", ParamKind::input, DType::f32, {kRow, kInner}),
                   tensor("b", ParamKind::input, DType::f32, {kInner, kColumn}),
                   tensor("c", ParamKind::output, DType::f32, {kRow, kColumn})};
  Builder b(kernel, kernel.entry);
  const Value row = b.mul(b.program_id(kRow), 16), column = b.mul(b.program_id(kColumn), 8);
  const Value zero = b.constant(0, Type::tile(DType::f32, {{kRow, 16}, {kColumn, 8}}));
  const Value steps = b.div(b.add(b.length(kInner), 31), 32);
  const Value sum = b.loop(b.constant(0), steps, {&zero, 1}, {}, [&](Builder& in, std::span<const Value> args) {
    const Value inner = in.mul(args[0], 32);
    const std::vector<Value> at_a = {row, inner}, at_b = {inner, column};
    const Value x = in.load(0, Type::tile(DType::f32, {{kRow, 16}, {kInner, 32}}), at_a);
    const Value y = in.load(1, Type::tile(DType::f32, {{kInner, 32}, {kColumn, 8}}), at_b);
    return std::vector<Value>{in.dot(x, y, args[1])};
  })[0];
  b.store(2, sum, std::vector<Value>{row, column});

  const int m = 37, n = 21, k = 70;
  std::vector<float> x(m * k), y(k * n), z(m * n, -1);
  for (int i = 0; i < m * k; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i % 7 - 3);
  for (int i = 0; i < k * n; ++i) y[static_cast<std::size_t>(i)] = static_cast<float>(i % 5 - 2);
  interpret(kernel, ir::bind(kernel, {view(x, {m, k}), view(y, {k, n}), view(z, {m, n})}), {.threads = 3});
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float wanted = 0;
      for (int l = 0; l < k; ++l)
        wanted += x[static_cast<std::size_t>(i * k + l)] * y[static_cast<std::size_t>(l * n + j)];
      if (z[static_cast<std::size_t>(i * n + j)] != wanted) FAIL(i << " " << j);
    }
  }
}

TEST_CASE("reductions over a looped axis see its elements only, whatever the tile") {
  Kernel kernel;
  kernel.name = "lowest";
  kernel.grid = {kRow, kHead};
  kernel.params = {tensor("x", ParamKind::input, DType::f32, {kRow, kColumn}),
                   tensor("y", ParamKind::output, DType::f32, {kRow})};
  Builder b(kernel, kernel.entry);
  const Value init = b.constant(-kInfinity, Type::tile(DType::f32, {{kRow}}));
  const Value top = b.over(kColumn, -1, {}, {&init, 1}, {}, [&](Builder& in, std::span<const Value> args) {
    const Value x = in.load(0, Type::tile(DType::f32, {{kRow}, {kColumn}}), {&args[0], 1});
    return std::vector<Value>{in.max(args[1], in.reduce(OpCode::reduce_max, x, kColumn))};
  })[0];
  b.store(1, top, {});
  for (int tile : {1, 3, 64}) {
    std::vector<float> x(2 * 5 * 7), y(2 * 5, 99);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = -1 - static_cast<float>(i % 7);  // a 0 from outside would win
    interpret(kernel, ir::bind(kernel, {view(x, {2, 5, 7}), view(y, {2, 5})}), {.traced_tile = tile});
    CHECK(y == std::vector<float>(10, -1.0f));
  }
}

TEST_CASE("loops over tiles nest, and know where they are") {
  // y[row] = sum over (column, inner) of column * 100 + inner
  Kernel kernel;
  kernel.name = "nested";
  kernel.grid = {kRow};
  kernel.params = {tensor("y", ParamKind::output, DType::i32, {kRow}),
                   tensor("x", ParamKind::input, DType::i32, {kColumn, kInner})};
  Builder b(kernel, kernel.entry);
  const Value zero = b.constant(0, Type::tile(DType::i32, {{kRow}}));
  const Value sum = b.over(kColumn, -1, {}, {&zero, 1}, {}, [&](Builder& outer, std::span<const Value> o) {
    return outer.over(kInner, -1, {}, {&o[1], 1}, {}, [&](Builder& inner, std::span<const Value> i) {
      const Value column = inner.position({kColumn}, o[0]), at = inner.position({kInner}, i[0]);
      const Value both = inner.add(inner.mul(column, inner.constant(100)), at);
      const Value all = inner.reduce(OpCode::reduce_sum, inner.reduce(OpCode::reduce_sum, both, kInner), kColumn);
      return std::vector<Value>{inner.add(i[1], all)};
    });
  })[0];
  b.store(0, sum, {});
  for (int tile : {2, 3, 50}) {
    std::vector<std::int32_t> y(3, 0), x(5 * 7, 0);
    interpret(kernel, ir::bind(kernel, {view(y, {3}), view(x, {5, 7})}), {.traced_tile = tile});
    CHECK(y == std::vector<std::int32_t>(3, 100 * 10 * 7 + 21 * 5));
  }
}

TEST_CASE("score functions see positions, lengths and values") {
  Kernel kernel;
  kernel.name = "scores";
  kernel.grid = {kRow, kHead};
  kernel.params = {tensor("x", ParamKind::input, DType::i32, {kRow, kColumn}),
                   tensor("y", ParamKind::output, DType::i32, {kRow})};
  const int f = add_mask(kernel, [](Builder& fb, std::span<const Value> p) {
    const Value score = fb.graph().add_value(Type::scalar(DType::i32), "score");
    fb.graph().entry.args.push_back(score);
    Value sum = fb.add(fb.mul(p[Function::q], 1000), fb.mul(p[Function::k], 10));
    sum = fb.add(fb.add(sum, p[Function::head]), fb.mul(p[Function::key_length], fb.constant(100000)));
    return fb.add(sum, score);
  });
  Builder b(kernel, kernel.entry);
  const Value zero = b.constant(0, Type::tile(DType::i32, {{kRow}}));
  const Value sum = b.over(kColumn, -1, {}, {&zero, 1}, {}, [&](Builder& in, std::span<const Value> args) {
    const Value x = in.load(0, Type::tile(DType::i32, {{kRow}, {kColumn}}), {&args[0], 1});
    const Value mapped = in.apply(f, args[0], {&x, 1});
    return std::vector<Value>{in.add(args[1], in.reduce(OpCode::reduce_sum, mapped, kColumn))};
  })[0];
  b.store(1, sum, {});
  std::vector<std::int32_t> x(2 * 3 * 4, 1), y(2 * 3, 0);
  interpret(kernel, ir::bind(kernel, {view(x, {2, 3, 4}), view(y, {2, 3})}), {.traced_tile = 2});
  for (int h = 0; h < 2; ++h) {
    for (int i = 0; i < 3; ++i) CHECK(y[static_cast<std::size_t>(h * 3 + i)] == 4 * (1000 * i + h + 400000 + 1) + 60);
  }
}

TEST_CASE("a function is evaluated at one point, with its own tables") {
  Function function;
  function.params = {{"doc", ParamKind::table, DType::i32, {}, 1}, {"left", ParamKind::scalar, DType::i32, {}, 0}};
  Graph& graph = function.graph;
  for (int i = 0; i < Function::kPositions; ++i) graph.entry.args.push_back(graph.add_value(Type::scalar(DType::i32)));
  graph.entry.args.push_back(graph.add_value(Type::scalar(DType::f32)));
  const std::vector<Value> p = graph.entry.args;
  Builder b(graph, graph.entry);
  const Value same = b.binary(OpCode::eq, b.gather(0, DType::i32, {&p[0], 1}), b.gather(0, DType::i32, {&p[1], 1}));
  const Value near = b.binary(OpCode::le, b.sub(p[0], p[1]), b.scalar(1, DType::i32));
  const Value value =
      b.select(b.binary(OpCode::logical_and, same, near), p[6], b.constant(-1, Type::scalar(DType::f32)));
  b.yield({&value, 1});
  std::vector<std::int32_t> doc = {0, 0, 0, 1, 1};
  const std::vector<Argument> tables = {view(doc, {5}), 1.0};
  CHECK(function.result_arguments() == 1);
  CHECK(evaluate(function, {1, 0, 0, 0, 5, 5, 0.5}, tables) == 0.5);
  CHECK(evaluate(function, {2, 0, 0, 0, 5, 5, 0.5}, tables) == -1);
  CHECK(evaluate(function, {3, 2, 0, 0, 5, 5, 0.5}, tables) == -1);
  CHECK(evaluate(function, {9, 8, 0, 0, 5, 5, 0.25}, tables) == 0.25);
  CHECK_THROWS_AS(evaluate(function, {1, 0}, tables), InternalError);
}

TEST_CASE("of several failing programs the first one reports, on any number of threads") {
  Kernel kernel;
  kernel.name = "broken";
  kernel.stage = Stage::tiled;
  kernel.grid = {kRow};
  kernel.grid_tiles = {{kRow, 1}};
  kernel.params = {tensor("out", ParamKind::output, DType::i32, {kRow})};
  Builder b(kernel, kernel.entry);
  b.append(OpCode::mma_commit, {});
  std::vector<std::int32_t> out(100, 0);
  for (int threads : {1, 4}) {
    CHECK_THROWS_WITH_AS(interpret(kernel, ir::bind(kernel, {view(out, {100})}), {.threads = threads}),
                         doctest::Contains("op 'mma_commit' in a kernel that is not placed"), InternalError);
  }
}

TEST_CASE("a placed kernel without roles is its entry block") {
  Kernel kernel;
  kernel.name = "scale";
  kernel.stage = Stage::placed;
  kernel.grid = {kRow, kHead};
  kernel.grid_tiles = {{kRow, 64}, {kHead, 1}};
  kernel.threads = 128;
  kernel.params = {tensor("x", ParamKind::input, DType::f32, {kRow}),
                   tensor("y", ParamKind::output, DType::f32, {kRow})};
  Builder b(kernel, kernel.entry);
  const Value row = b.mul(b.program_id(kRow), 64);
  const Value x = b.load(0, Type::tile(DType::f32, {{kRow, 64}}), {&row, 1});
  b.store(1, b.mul(x, b.constant(2, Type::scalar(DType::f32))), {&row, 1});
  std::vector<float> in(2 * 100, 1.5f), out(2 * 100, 0);
  interpret(kernel, ir::bind(kernel, {view(in, {2, 100}), view(out, {2, 100})}));
  CHECK(out == std::vector<float>(200, 3.0f));
}
