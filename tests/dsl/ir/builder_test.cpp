#include <tessera/dsl/ir/builder.h>

#include <doctest/doctest.h>

#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/verify.h>

using namespace tessera;
using namespace tessera::ir;

namespace {

const Axis query = Axis::named("Query"), key = Axis::named("Key"), depth = Axis::named("Depth");

struct Fixture {
  Graph graph;
  Builder b{graph, graph.entry, SourceLoc{"kernel.cpp", 12}};

  Value tile(DType t, std::vector<Axis> axes) {
    std::vector<Dim> dims;
    for (Axis axis : axes) dims.push_back({axis, 0});
    return b.load(0, Type::tile(t, dims), {});
  }
  std::string type(Value v) const { return to_string(graph.type(v)); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "results take their types from the operands") {
  Value rows = tile(DType::f32, {query}), tile_ = tile(DType::f32, {query, key}), columns = tile(DType::f32, {key});
  CHECK(type(b.binary(OpCode::sub, tile_, rows)) == "f32[Query, Key]");
  CHECK(type(b.binary(OpCode::add, rows, columns)) == "f32[Query, Key]");
  CHECK(type(b.binary(OpCode::lt, columns, rows)) == "i1[Key, Query]");
  CHECK(type(b.reduce(OpCode::reduce_max, tile_, key)) == "f32[Query]");
  CHECK(type(b.cast(rows, DType::bf16)) == "bf16[Query]");
  CHECK(type(b.select(b.binary(OpCode::lt, rows, columns), b.constant(0, Type::scalar(DType::f32)), rows)) ==
        "f32[Query, Key]");
  Value q = tile(DType::bf16, {query, depth}), k = tile(DType::bf16, {key, depth});
  Value s = b.dot(q, k);
  CHECK(type(s) == "f32[Query, Key]");
  CHECK(graph.entry.ops.back().axis == depth);
  CHECK(type(b.dot(q, k, s)) == "f32[Query, Key]");
  CHECK(type(b.broadcast(rows, {{key, 0}, {query, 0}})) == "f32[Key, Query]");
  CHECK(type(b.gather(0, DType::f32, std::vector{b.position({query, 0})})) == "f32[Query]");
  CHECK(type(b.allowed(0, {query, 0}, {key, 0}, s)) == "i1[Query, Key]");
  CHECK(graph.entry.ops.back().loc.line == 12);
}

TEST_CASE_FIXTURE(Fixture, "index arithmetic folds as it is built") {
  Value n = b.length(key);
  std::size_t before = graph.entry.ops.size();
  CHECK(b.add(n, 0) == n);
  CHECK(b.mul(n, 1) == n);
  CHECK(b.div(n, 1) == n);
  CHECK(graph.entry.ops.size() == before);
  Value c6 = b.mul(b.constant(2), b.constant(3));
  CHECK(b.constant_of(c6) == 6.0);
  CHECK(b.constant(6) == c6);
  CHECK(b.constant_of(b.add(c6, 1)) == 7.0);
  CHECK(b.constant_of(b.div(b.constant(-7), 2)) == -4.0);
  CHECK(b.constant_of(b.binary(OpCode::lt, c6, b.constant(7))) == 1.0);
  CHECK(b.constant_of(b.mul(n, b.constant(0))) == 0.0);
  CHECK(b.select(b.binary(OpCode::lt, c6, b.constant(7)), n, c6) == n);
  CHECK(b.min(n, n) == n);
  CHECK_FALSE(b.constant_of(n));
}

TEST_CASE_FIXTURE(Fixture, "a region's builder sees the constants around it") {
  Value c3 = b.constant(3);
  std::vector<std::string> names = {"sum"};
  std::vector<Value> init = {c3};
  std::vector<Value> out = b.loop(c3, b.length(key), init, names, [&](Builder& inner, std::span<const Value> args) {
    CHECK(inner.constant(3) == c3);
    CHECK(inner.constant_of(inner.add(c3, 4)) == 7.0);
    CHECK_FALSE(inner.constant_of(args[0]));
    return std::vector<Value>{inner.add(args[1], args[0])};
  });
  REQUIRE(out.size() == 1);
  CHECK(graph.name_of(out[0]) == "sum");
  CHECK(type(out[0]) == "i32");
  const Op& loop = graph.entry.ops.back();
  CHECK(loop.regions[0].args.size() == 2);
  CHECK(loop.regions[0].ops.back().code == OpCode::yield);
  CHECK(loop.loc.line == 12);
}

TEST_CASE_FIXTURE(Fixture, "what a program gets wrong is said at its line, with both types") {
  Value rows = tile(DType::f32, {query}), half = tile(DType::bf16, {query}), mask = tile(DType::i1, {query});
  Value index = b.length(key);
  auto says = [](const char* text, auto f) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(f(), text, UserError);
  };
  says(
      "kernel.cpp:12: error: operands of 'add' have different dtypes: f32[Query] and bf16[Query]; note: cast one of "
      "them",
      [&] { b.add(rows, half); });
  says("kernel.cpp:12: error: 'exp2' takes floats, not i32; note: cast it to f32",
       [&] { b.unary(OpCode::exp2, index); });
  says(
      "kernel.cpp:12: error: 'mul' takes numbers, not i1[Query]; note: cast it to a number, or use a logical operation",
      [&] { b.mul(mask, mask); });
  says("kernel.cpp:12: error: 'logical_and' takes i1, not f32[Query]; note: compare it with something first",
       [&] { b.binary(OpCode::logical_and, rows, rows); });
  says("kernel.cpp:12: error: 'mod' takes i32, not f32[Query]; note: cast it to i32",
       [&] { b.binary(OpCode::mod, rows, rows); });
  says("kernel.cpp:12: error: the condition of 'select' is f32[Query], not i1; note: compare it with something first",
       [&] { b.select(rows, rows, rows); });
  says(
      "kernel.cpp:12: error: the values of 'select' have different dtypes: f32[Query] and bf16[Query]; note: cast one "
      "of them",
      [&] { b.select(mask, rows, half); });
  says("kernel.cpp:12: error: f32[Query] is cast to i1; note: compare it with 0 instead",
       [&] { b.cast(rows, DType::i1); });
  says(
      "kernel.cpp:12: error: 'reduce_max' along Key of f32[Query], which lacks that axis; note: name an axis that the "
      "operand has",
      [&] { b.reduce(OpCode::reduce_max, rows, key); });
  says(
      "kernel.cpp:12: error: f32[Query] does not broadcast to f32[Key]; note: the result must have every axis of the "
      "operand",
      [&] { b.broadcast(rows, {{key, 0}}); });
  says(
      "kernel.cpp:12: error: operands of 'fma' have different dtypes: f32[Query], f32[Query] and bf16[Query]; note: "
      "cast them to one",
      [&] { b.fma(rows, rows, half); });
  says("kernel.cpp:12: error: a table is indexed by f32[Query]; note: cast the index to i32",
       [&] { b.gather(0, DType::i32, std::vector{rows}); });
}

TEST_CASE_FIXTURE(Fixture, "products share exactly one axis") {
  Value q = tile(DType::bf16, {query, depth}), k = tile(DType::bf16, {key, depth}),
        kd = tile(DType::bf16, {depth, query});
  CHECK_THROWS_WITH_AS(b.dot(q, kd),
                       "kernel.cpp:12: error: operands of 'dot' share 2 axes (Query, Depth), must share exactly one: "
                       "bf16[Query, Depth] and "
                       "bf16[Depth, Query]; note: contract one axis at a time",
                       UserError);
  CHECK_THROWS_WITH_AS(
      b.dot(q, tile(DType::bf16, {key})),
      "kernel.cpp:12: error: operands of 'dot' share 0 axes, must share exactly one: bf16[Query, Depth] and "
      "bf16[Key]; note: contract one axis at a time",
      UserError);
  CHECK_THROWS_WITH_AS(
      b.dot(q, tile(DType::f32, {key, depth})),
      "kernel.cpp:12: error: operands of 'dot' have dtypes it cannot multiply: bf16[Query, Depth] and f32[Key, "
      "Depth]; note: cast both to one float type",
      UserError);
  CHECK_THROWS_WITH_AS(b.dot(q, k, tile(DType::f32, {query})),
                       "kernel.cpp:12: error: 'dot' adds f32[Query] to a product of type f32[Query, Key]; note: "
                       "broadcast or cast the summand",
                       UserError);
}

TEST_CASE_FIXTURE(Fixture, "tiles of different sizes do not meet") {
  Value a = b.load(0, Type::tile(DType::f32, {{query, 64}}), {}),
        c = b.load(0, Type::tile(DType::f32, {{query, 128}}), {});
  CHECK_THROWS_WITH_AS(b.add(a, c),
                       "kernel.cpp:12: error: operands of 'add' have different extents along Query: f32[Query:64] and "
                       "f32[Query:128]; note: use tiles of the same size",
                       UserError);
}

TEST_CASE_FIXTURE(Fixture, "bodies yield what they carry") {
  Value rows = tile(DType::f32, {query}), n = b.length(key);
  std::vector<Value> init = {rows};
  std::vector<std::string> names = {"row_max"};
  auto body = [&](std::vector<Value> yielded) { return [=](Builder&, std::span<const Value>) { return yielded; }; };
  CHECK_THROWS_WITH_AS(b.over(key, -1, {}, init, names, body({n})),
                       "kernel.cpp:12: error: 'over' carries row_max as f32[Query], but its body yields i32; note: "
                       "broadcast or cast one of them",
                       UserError);
  CHECK_THROWS_WITH_AS(
      b.over(key, -1, {}, init, {}, body({rows, rows})),
      "kernel.cpp:12: error: the body of 'over' yields 2 values, but carries 1; note: yield one value for each "
      "carried one",
      UserError);
  CHECK_THROWS_WITH_AS(b.loop(rows, n, init, names, body({rows})),
                       "kernel.cpp:12: error: a bound of 'loop' is f32[Query], not i32; note: cast it to i32",
                       UserError);
  CHECK_THROWS_WITH_AS(b.over(key, -1, rows, init, names, body({rows})),
                       "kernel.cpp:12: error: the bound of 'over' is f32[Query], not i32; note: cast it to i32",
                       UserError);
  CHECK_THROWS_WITH_AS(
      b.when(n, init, names, body({rows})),
      "kernel.cpp:12: error: the condition of 'when' is i32, not a scalar i1; note: reduce it with any or all",
      UserError);
  CHECK_THROWS_WITH_AS(b.apply(0, n, {}),
                       "kernel.cpp:12: error: a score function is applied to nothing; note: give it the scores",
                       UserError);
}
