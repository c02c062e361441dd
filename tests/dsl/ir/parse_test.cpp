#include <doctest/doctest.h>
#include <fmt/format.h>

#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/rewrite.h>
#include <tessera/dsl/ir/verify.h>

#include "dsl/ir/kernel_text.h"

using namespace tessera;
using namespace tessera::ir;

namespace {

void round_trip(const std::string& text) {
  Kernel kernel = parse(text);
  CHECK(print(kernel) == text);
  CHECK(verify(kernel) == "");
  CHECK(legal(kernel, kernel.stage) == "");
}

}  // namespace

TEST_CASE("traced kernels read back") {
  round_trip(test::traced(R"(function @1 softcap(q, k, head, batch, query_length, key_length, score: f32) {
  %0 = tanh %score : f32
  yield %0
}
%0 = load q : bf16[Query, Depth]
%1 = constant -1e+30 : f32[Query]
%2 = length Key : i32
%row_max.1, %3 = over Key mask @0 bound %2 (%row_max = %1, %4 = %1) {
  ^(%t: tile Key)
  %5 = load k(%t ; bound Key %2) : bf16[Key, Depth]
  %6 = dot Depth %0, %5 : f32[Query, Key]
  %7 = scalar scale : f32
  %8 = mul %6, %7 : f32[Query, Key]
  %9 = apply @1 %t, %8 : f32[Query, Key]
  %10 = allowed @0 %t : i1[Query, Key]
  %11 = allowed %t : i1[Query, Key]
  %12 = position Key(%t) : i32[Key]
  %13 = position Query : i32[Query]
  %14 = gather doc(%12) : i32[Key]
  %15 = select %10, %9, -inf : f32[Query, Key]
  %16 = reduce_max Key %15 : f32[Query]
  %17 = reduce_any Query %11 : i1[Key]
  %18 = reduce_any Key %17 : i1
  %19 = when %18 (%20 = %16) {
    %21 = exp2 %20 : f32[Query]
    yield %21
  }
  yield %16, %19
}
over Key {
  ^(%t.1: tile Key)
  yield
}
store o(), %row_max.1
)"));
}

TEST_CASE("tiled kernels read back") {
  round_trip(test::tiled(R"(
whole Depth:60
%0 = program_id Query : i32
%row = mul %0, 64 : i32
%1 = load q(%row, 0) : bf16[Query:64, Depth:64]
%2 = iota Query : i32[Query:64]
%3 = scalar s : i32
%4 = constant 0 : f32[Query:64]
%5 = length Key : i32
%sum.1 = loop 0 to %3 (%sum = %4) {
  ^(%i)
  %start = mul %i, 64 : i32
  %6 = load k(%start, 0 ; bound Key %5) : bf16[Key:64, Depth:64]
  %7 = dot Depth %1, %6 : f32[Query:64, Key:64]
  %8 = reduce_sum Key %7 : f32[Query:64]
  %9 = fma %8, %8, %sum : f32[Query:64]
  yield %9
}
%10 = broadcast 1.5 : f32[Query:64]
store o(%row), %sum.1
)"));
}

TEST_CASE("placed kernels read back: roles, rings, barriers, views, copies, layouts") {
  round_trip(test::placed(R"(
%qs = alloc : shared<bf16[Query:128, Depth:64] x1>
%ks = alloc : shared<bf16[Key:128, Depth:64] x2>
%full = alloc : barrier<1 x2>
%empty = alloc : barrier<2 x2>
%0 = length Key : i32
role @0 {
  %n.1 = loop 0 to %0 (%n = 0) {
    ^(%i)
    wait 1 %empty, %n
    expect 32768 %full, %n
    %1 = slot %ks, %n : view<bf16[Key:128, Depth:64]>
    copy k(%1 ; %full, %n ; %i, 0 ; bound Key %0)
    %2 = slot %qs, 0 : view<bf16[Query:128, Depth:64]>
    copy q(%2 ; %full, %n ; %i, 0)
    yield %n
  }
}
role @1 {
  %3 = group_id : i32
  wait %full, 0
  %4 = slot %qs, 0 : view<bf16[Query:128, Depth:64]>
  %5 = rows Query %4, %3 : view<bf16[Query:64, Depth:64]>
  %6 = slot %ks, 0 : view<bf16[Key:128, Depth:64]>
  mma_fence
  %7 = mma Depth %5, %6 : f32[Query:64, Key:128] #0
  %8 = mma Depth %5, %6, %7 : f32[Query:64, Key:128] #0
  mma_commit
  mma_wait 1
  %9, %10 = mma_wait 0 %8, %7
  arrive %empty, 0
  %11 = reduce_max Key %9 : f32[Query:64] #1
  %12 = sub %10, %11 : f32[Query:64, Key:128] #0
  %13 = iota Key : i32[Key:128] #2
  %14 = cast %13 : f32[Key:128] #2
  %15 = mul %12, %14 : f32[Query:64, Key:128] #0
  %16 = convert %11 : f32[Query:64] #1
  store o(0), %16
}
)"));
}

TEST_CASE("names come back as the user's, numbers as nothing") {
  Kernel k = parse(
      "kernel f traced grid() {\n  %n = length Key : i32\n  %n.1 = length Key : i32\n  %7 = length Key : i32\n"
      "}\n");
  CHECK(k.name_of(k.entry.ops[0].results[0]) == "n");
  CHECK(k.name_of(k.entry.ops[1].results[0]) == "n");
  CHECK(k.name_of(k.entry.ops[2].results[0]) == "");
  CHECK(k.entry.ops[2].loc.line == 4);
  CHECK(std::string(k.entry.ops[2].loc.file) == "<text>");
}

TEST_CASE("parameters of one name stay apart") {
  std::string text =
      "kernel f traced grid() {\n  param doc: table i32 rank 1\n  param doc.1: table i32 rank 2\n"
      "  %0 = length Key : i32\n  %1 = gather doc.1(%0, %0) : i32\n}\n";
  Kernel k = parse(text);
  CHECK(k.params[1].name == "doc");
  CHECK(k.entry.ops[1].index == 1);
  CHECK(print(k) == text);
}

TEST_CASE("tables of tile numbers are told from other tables") {
  const std::string text =
      "kernel f tiled grid(Query:64) {\n  param ids: table i32 rank 2 indices\n  param doc: table i32 rank 1\n}\n";
  round_trip(text);
  const Kernel k = parse(text);
  CHECK(k.params[0].indices);
  CHECK(k.params[0].rank == 2);
  CHECK(!k.params[1].indices);
  CHECK_THROWS_AS(parse("kernel f tiled grid(Query:64) {\n  param cap: scalar i32 indices\n}\n"), UserError);
}

TEST_CASE("a function alone reads back") {
  std::string text = R"(function softcap(q, k, head, batch, query_length, key_length, score: f32) {
  param cap: scalar f32
  %0 = scalar cap : f32
  %1 = div %score, %0 : f32
  %2 = tanh %1 : f32
  %3 = mul %2, %0 : f32
  yield %3
}
)";
  Function f = parse_function(text);
  CHECK(print(f) == text);
  CHECK(f.result_arguments() == 1);
  CHECK(verify(f) == "");
}

TEST_CASE("numbers of all sizes read back as the same double") {
  for (const char* number :
       {"0", "-0", "1", "0.1", "1.442695", "-1e+30", "1e-45", "3.4028234663852886e+38", "inf", "-inf", "nan"}) {
    std::string text = fmt::format(
        "kernel f traced grid(Query) {{\n  %0 = constant {0} : f32[Query]\n  %1 = max %0, {0} : f32[Query]\n"
        "  %2 = gt {0}:f32, %1 : i1[Query]\n}}\n",
        number);
    CHECK(print(parse(text)) == text);
  }
}

TEST_CASE("a number stands for one constant of the blocks it is in, written as an op or not") {
  Kernel k = parse(test::tiled(R"(
%zero = constant 0 : i32
%0 = scalar s : i32
%1 = min %0, 0 : i32
when true {
  %2 = min %0, 5 : i32
  %3 = max %2, 5 : i32
  yield
}
%4 = max %1, 5 : i32
%5 = constant 0 : f32[Query:64]
%6 = add %5, 0 : f32[Query:64]
%7 = add %6, -0 : f32[Query:64]
store o(0), %7
)"));
  CHECK(verify(k) == "");
  std::vector<std::string> made;
  walk(k.entry, [&](const Op& op) {
    if (op.code == OpCode::constant) made.push_back(fmt::format("{}:{}", op.number, to_string(k.type(op.results[0]))));
  });
  CHECK(made == std::vector<std::string>{"0:i32", "1:i1", "5:i32", "5:i32", "0:f32[Query:64]", "0:f32", "-0:f32"});
  CHECK(k.entry.ops[2].operands[1] == k.entry.ops[0].results[0]);
  CHECK(k.entry.ops[3].loc.line == k.entry.ops[4].loc.line);
}

TEST_CASE("complaints say where, what was expected and what was found") {
  struct Row {
    const char* text;
    const char* complaint;
  };
  const Row rows[] = {
      {"kernel", "t.ir:1: error: column 7: expected the name of the kernel, found the end of the text"},
      {"kernel f lowered", "t.ir:1: error: column 10: expected traced, tiled or placed, found 'lowered'"},
      {"kernel f traced grid(Query) {\n  %0 = foo %1\n}", "t.ir:2: error: column 8: there is no operation 'foo'"},
      {"kernel f traced grid() {\n  %0 = neg %x : f32\n}", "t.ir:2: error: column 12: value %x is not defined here"},
      {"kernel f traced grid() {\n  %0 = length Key\n}", "t.ir:3: error: column 1: expected ':', found '}'"},
      {"kernel f traced grid() {\n  %0 = length Key : i64\n}",
       "t.ir:2: error: column 21: expected a type, found 'i64'; note: use one of i1, i32, f16, bf16, f32, tile, "
       "shared, view, barrier"},
      {"kernel f traced grid() {\n  %0 = length Key : i32\n  %0 = length Key : i32\n}",
       "t.ir:3: error: column 3: value %0 is defined twice"},
      {"kernel f traced grid() {\n  %0 = load q : f32\n}", "t.ir:2: error: column 13: there is no parameter 'q'"},
      {"kernel f traced grid() {\n  %0 = constant x : f32\n}",
       "t.ir:2: error: column 17: expected a number, found 'x'"},
      {"kernel f traced grid() {\n  %0 = lt 1:f64, 2 : i1\n}",
       "t.ir:2: error: column 11: expected a type, found 'f64'; note: use one of i1, i32, f16, bf16, f32, tile, "
       "shared, view, barrier"},
      {"kernel f traced grid() {\n  %0 = constant 1:f32 : f32\n}",
       "t.ir:2: error: column 17: expected a number, found '1:f32'"},
      {"kernel f traced grid() {\n  %0 = constant 1e999 : f32\n}", "t.ir:2: error: column 17: '1e999' is not a number"},
      {"kernel f traced grid() {\n  %0, %1 = length Key : i32\n}", "t.ir:2: error: column 7: 'length' has one result"},
      {"kernel f traced grid() {\n  param q: on f32\n}",
       "t.ir:2: error: column 12: expected in, out, scalar or table, found 'on'"},
      {"kernel f traced grid() {\n  function @1 g() {\n  }\n}", "t.ir:2: error: column 12: expected @0, found @1"},
      {"kernel f placed grid(Query:1.5) {\n}", "t.ir:1: error: column 28: '1.5' is not a whole number of 32 bits"},
      {"kernel f placed grid() {\n  %0 = alloc : barrier<1 y2>\n}",
       "t.ir:2: error: column 26: expected a count like x2, found 'y2'"},
      {"kernel f placed grid() {\n  %0 = constant 0 : f32 #1\n}",
       "t.ir:2: error: column 25: layout #1 is not listed, there are 0"},
      {"kernel f traced grid() {\n  over Key (%x = %x) {\n", "t.ir:2: error: column 18: value %x is not defined here"},
      {"kernel f traced grid() {\n  over Key {\n    yield\n  }\n}",
       "t.ir:3: error: column 5: expected '^', found 'yield'"},
      {"kernel f traced grid() {\n}\n}", "t.ir:3: error: column 1: expected the end of the text, found '}'"},
      {"kernel f traced grid() {\n  %0 = length Key : i32\n",
       "t.ir:3: error: column 1: expected an operation, found the end of the text"},
      {"kernel f traced grid() {\n  $\n}", "t.ir:2: error: column 3: expected an operation, found '$'"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK_THROWS_WITH_AS(parse(row.text, "t.ir"), row.complaint, UserError);
  }
}

TEST_CASE("values end with their region") {
  CHECK_THROWS_WITH_AS(
      parse("kernel f traced grid() {\n  over Key {\n    ^(%t: tile Key)\n    %x = length Key : i32\n    yield\n  }\n"
            "  %1 = neg %x : i32\n}\n"),
      "<text>:7: error: column 12: value %x is not defined here", UserError);
}
