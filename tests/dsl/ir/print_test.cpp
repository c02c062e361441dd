#include <tessera/dsl/ir/print.h>

#include <limits>

#include <doctest/doctest.h>

#include <tessera/dsl/ir/builder.h>
#include <tessera/dsl/ir/layout.h>
#include <tessera/dsl/ir/verify.h>

using namespace tessera;
using namespace tessera::ir;

namespace {
const Axis query = Axis::named("Query"), head = Axis::named("Head"), batch = Axis::named("Batch"),
           key = Axis::named("Key"), depth = Axis::named("Depth");

Kernel empty(Stage stage = Stage::traced) {
  Kernel k;
  k.name = "f";
  k.stage = stage;
  k.grid = {query};
  if (stage != Stage::traced) k.grid_tiles = {{query, 64}};
  return k;
}
}  // namespace

TEST_CASE("a traced kernel prints as the header shows") {
  Kernel k = empty();
  k.grid = {query, head, batch};
  k.params = {{"q", ParamKind::input, DType::bf16, {query, depth}, 2},
              {"k", ParamKind::input, DType::bf16, {key, depth}, 2},
              {"lse", ParamKind::output, DType::f32, {query}, 1},
              {"scale", ParamKind::scalar, DType::f32, {}, 0}};
  Function window;
  window.name = "window";
  window.params = {{"doc", ParamKind::table, DType::i32, {}, 1}};
  for (int i = 0; i < Function::kPositions; ++i) {
    window.graph.entry.args.push_back(window.graph.add_value(Type::scalar(DType::i32)));
  }
  Builder w(window.graph, window.graph.entry);
  auto doc = [&](int i) { return w.gather(0, DType::i32, {&window.graph.entry.args[i], 1}); };
  Value dq = doc(Function::q), dk = doc(Function::k);
  w.yield(std::vector{w.binary(OpCode::eq, dq, dk)});
  k.functions.push_back(window);

  Builder b(k, k.entry);
  Value q = b.load(0, Type::tile(DType::bf16, {{query, 0}, {depth, 0}}), {});
  std::vector<Value> init = {b.constant(-1e30, Type::tile(DType::f32, {{query, 0}}))};
  std::vector<std::string> names = {"row_max"};
  Value n = b.length(key);
  std::vector<Value> end = b.over(key, 0, n, init, names, [&](Builder& in, std::span<const Value> args) {
    Value tile = in.load(1, Type::tile(DType::bf16, {{key, 0}, {depth, 0}}), args.subspan(0, 1));
    Value s = in.mul(in.dot(q, tile), in.scalar(3, DType::f32));
    Value p = in.position({key, 0}, args[0]);
    Value x = in.select(in.allowed(0, {query, 0}, {key, 0}, args[0]), in.apply(0, args[0], std::vector{s}),
                        in.constant(-std::numeric_limits<double>::infinity(), Type::scalar(DType::f32)));
    (void)p;
    return std::vector{in.max(args[1], in.reduce(OpCode::reduce_max, x, key))};
  });
  b.store(2, end[0], {});
  std::string text = print(k);
  // The operands of `select` are built in the order the C++ compiler likes; only simplify fixes that.
  CHECK(text.starts_with(R"(kernel f traced grid(Query, Head, Batch) {
  param q: in bf16[Query, Depth]
  param k: in bf16[Key, Depth]
  param lse: out f32[Query]
  param scale: scalar f32
  function @0 window(q, k, head, batch, query_length, key_length) {
    param doc: table i32 rank 1
    %0 = gather doc(%q) : i32
    %1 = gather doc(%k) : i32
    %2 = eq %0, %1 : i1
    yield %2
  }
  %0 = load q : bf16[Query, Depth]
  %1 = constant -1e+30 : f32[Query]
  %2 = length Key : i32
  %row_max.1 = over Key mask @0 bound %2 (%row_max = %1) {
    ^(%t: tile Key)
    %3 = load k(%t) : bf16[Key, Depth]
)"));
  CHECK(text.find("= position Key(%t) : i32[Key]\n") != std::string::npos);
  CHECK(text.find("= allowed @0 %t : i1[Query, Key]\n") != std::string::npos);
  CHECK(text.find("= apply @0 %t, %") != std::string::npos);
  CHECK(text.find(", -inf : f32[Query, Key]\n") != std::string::npos);
  CHECK(text.ends_with("  store lse(), %row_max.1\n}\n"));
  CHECK(print(parse(text)) == text);
}

TEST_CASE("the text does not depend on the numbers values have") {
  Kernel a = empty(), b = empty();
  b.add_value(Type::scalar(DType::f32), "unused");
  for (Kernel* k : {&a, &b}) {
    Builder out(*k, k->entry);
    Value n = out.length(key);
    out.add(n, out.program_id(query));
  }
  CHECK(a.values.size() != b.values.size());
  CHECK(print(a) == print(b));
}

TEST_CASE("names repeat with a number, and keep to letters, digits and _") {
  Kernel k = empty();
  Builder b(k, k.entry);
  for (const char* name : {"x", "x", "", "two words", "3d", "x"}) {
    k.values[b.length(key).id].name = name;
  }
  CHECK(print(k) == R"(kernel f traced grid(Query) {
  %x = length Key : i32
  %x.1 = length Key : i32
  %0 = length Key : i32
  %two_words = length Key : i32
  %_3d = length Key : i32
  %x.2 = length Key : i32
}
)");
  CHECK(print(parse(print(k))) == print(k));
}

TEST_CASE("scalar constants are numbers where they are used, with their dtype where nothing else tells it") {
  Kernel k = empty(Stage::tiled);
  Builder b(k, k.entry);
  Type f32 = Type::scalar(DType::f32);
  Value n = b.length(key), x = b.cast(n, DType::f32), inf = b.constant(std::numeric_limits<double>::infinity(), f32);
  Value yes = b.constant(1, Type::scalar(DType::i1));
  b.binary(OpCode::lt, n, b.constant(-3));
  b.binary(OpCode::lt, b.constant(-3), n);
  b.binary(OpCode::lt, b.constant(2, f32), inf);
  b.binary(OpCode::add, b.constant(-0.0, f32), inf);
  b.append_value(OpCode::select, {yes, x, inf}, f32);
  b.cast(inf, DType::f16);
  b.broadcast(inf, {{query, 64}});
  b.append_value(OpCode::logical_and, {yes, yes}, Type::scalar(DType::i1));
  std::vector<std::string> names = {"n", "x"};
  b.loop(
      b.constant(0), b.constant(8), std::vector{b.constant(0), inf}, names,
      [](Builder& in, std::span<const Value> args) { return std::vector{in.constant(1), in.mul(args[2], args[2])}; });
  b.constant(7);  // nobody reads it
  std::string text = R"(kernel f tiled grid(Query:64) {
  %0 = length Key : i32
  %1 = cast %0 : f32
  %2 = lt %0, -3 : i1
  %3 = lt -3, %0 : i1
  %4 = lt 2:f32, inf : i1
  %5 = add -0, inf : f32
  %6 = select true, %1, inf : f32
  %7 = cast inf:f32 : f16
  %8 = broadcast inf : f32[Query:64]
  %9 = logical_and true, true : i1
  %n.1, %x.1 = loop 0 to 8 (%n = 0, %x = inf:f32) {
    ^(%i)
    %10 = mul %x, %x : f32
    yield 1, %10
  }
}
)";
  CHECK(print(k) == text);
  CHECK(verify(k) == "");
  Kernel back = parse(text);
  CHECK(print(back) == text);
  CHECK(verify(back) == "");
  CHECK(legal(back, Stage::tiled) == "");
}

TEST_CASE("locations are comments, when asked for") {
  Kernel k = empty();
  Builder b(k, k.entry, SourceLoc{"user.cpp", 7});
  b.length(key);
  CHECK(print(k) == "kernel f traced grid(Query) {\n  %0 = length Key : i32\n}\n");
  std::string located = print(k, {.locations = true});
  CHECK(located == "kernel f traced grid(Query) {\n  %0 = length Key : i32  // user.cpp:7\n}\n");
  CHECK(print(parse(located)) == print(k));
}

TEST_CASE("layouts are listed once, in order of appearance") {
  Kernel k = empty(Stage::placed);
  k.threads = 128;
  auto rows = std::make_shared<const Layout>(Layout({}, {{32, query, 1}}, {{2, query, 32}, {2, {}, 0}}));
  auto same = std::make_shared<const Layout>(*rows);
  auto other = std::make_shared<const Layout>(Layout({{64, query, 1}}, {{32, {}, 0}}, {{4, {}, 0}}));
  Builder b(k, k.entry);
  Type type = Type::tile(DType::f32, {{query, 64}});
  for (const auto& layout : {rows, same, other}) {
    type.layout = layout;
    b.constant(0, type);
  }
  std::string text = R"(kernel f placed grid(Query:64) threads 128 {
  layout #0 {reg | lane 32*Query:1 | warp 2*Query:32 2}
  layout #1 {reg 64*Query:1 | lane 32 | warp 4}
  %0 = constant 0 : f32[Query:64] #0
  %1 = constant 0 : f32[Query:64] #0
  %2 = constant 0 : f32[Query:64] #1
}
)";
  CHECK(print(k) == text);
  CHECK(print(parse(text)) == text);
  CHECK(legal(parse(text), Stage::placed).empty());
}

TEST_CASE("broken kernels print too: the text of an internal error") {
  Kernel k = empty();
  k.entry.ops.push_back({.code = OpCode::add, .operands = {Value{7}, Value{}}, .results = {Value{9}}});
  k.entry.ops.push_back({.code = OpCode::load, .index = 3});
  k.entry.ops.push_back({.code = OpCode::over, .operands = {Value{1}}, .regions = {Block{}}});
  CHECK(print(k) == "kernel f traced grid(Query) {\n  %? = add %?, %?\n  load @3\n  over  bound %? {\n  }\n}\n");
}
