#include <tessera/dsl/passes/simplify.h>

#include <chrono>

#include <doctest/doctest.h>

#include <tessera/dsl/ir/builder.h>
#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/verify.h>

#include "dsl/ir/kernel_text.h"

using namespace tessera;
using namespace tessera::ir;

namespace {

// Simplified code of a kernel of one stage, as text without the kernel around it.
std::string simplified(std::string (*around)(const std::string&), const std::string& code) {
  Kernel before = parse(around(code));
  CHECK(verify(before) == "");
  Kernel after = passes::simplify(before);
  CHECK(verify(after) == "");
  CHECK(print(passes::simplify(after)) == print(after));
  std::string text = print(after), head = around("");
  head.resize(head.size() - 2);
  REQUIRE(text.starts_with(head));
  std::string body = text.substr(head.size(), text.size() - head.size() - 2), out = "\n";
  for (std::size_t at = 0; at < body.size();) {
    std::size_t end = body.find('\n', at);
    out += body.substr(at + 2, end - at - 1);
    at = end + 1;
  }
  return out;
}

std::string tiled(const std::string& code) { return simplified(test::tiled, code); }
std::string traced(const std::string& code) { return simplified(test::traced, code); }

// What `code`, a function of the i32 %q, %k and %head, the f32 %x and the i1 %p, yields once simplified.
std::string scalar(const std::string& code) {
  Function before =
      parse_function("function f(q, k, head, batch, query_length, key_length, x: f32, p: i1) {\n" + code + "}\n");
  CHECK(verify(before) == "");
  Function after = passes::simplify(before);
  CHECK(verify(after) == "");
  std::string text = print(after);
  text = text.substr(text.find("{\n") + 2);
  text.resize(text.size() - 2);
  return "\n" + text;
}

}  // namespace

TEST_CASE("i32 identities") {
  const std::string q = "\n  yield %q\n", zero = "\n  %c0 = constant 0 : i32\n  yield %c0\n";
  CHECK(scalar("%0 = constant 0 : i32\n%1 = add %0, %q : i32\nyield %1\n") == q);
  CHECK(scalar("%0 = constant 0 : i32\n%1 = sub %q, %0 : i32\nyield %1\n") == q);
  CHECK(scalar("%0 = constant 1 : i32\n%1 = mul %0, %q : i32\nyield %1\n") == q);
  CHECK(scalar("%0 = constant 1 : i32\n%1 = div %q, %0 : i32\nyield %1\n") == q);
  CHECK(scalar("%0 = constant 0 : i32\n%1 = mul %q, %0 : i32\nyield %1\n") == zero);
  CHECK(scalar("%0 = constant 0 : i32\n%1 = div %q, %0 : i32\nyield %1\n") == zero);
  CHECK(scalar("%0 = constant 1 : i32\n%1 = mod %q, %0 : i32\nyield %1\n") == zero);
  CHECK(scalar("%0 = sub %q, %q : i32\nyield %0\n") == zero);
  CHECK(scalar("%0 = max %q, %q : i32\nyield %0\n") == q);
  CHECK(scalar("%0 = neg %q : i32\n%1 = neg %0 : i32\nyield %1\n") == q);
  CHECK(scalar("%0 = add %q, %k : i32\n%1 = sub %0, %k : i32\nyield %1\n") == q);
  CHECK(scalar("%0 = sub %q, %k : i32\n%1 = add %k, %0 : i32\nyield %1\n") == q);
  CHECK(scalar("%0 = sub %k, %q : i32\n%1 = sub %k, %0 : i32\nyield %1\n") == q);
}

TEST_CASE("chains of i32 constants become one") {
  CHECK(scalar(
            "%0 = constant 1 : i32\n%1 = add %q, %0 : i32\n%2 = constant 2 : i32\n%3 = add %1, %2 : i32\nyield %3\n") ==
        "\n  %c3 = constant 3 : i32\n  %0 = add %q, %c3 : i32\n  yield %0\n");
  CHECK(scalar(
            "%0 = constant 5 : i32\n%1 = sub %q, %0 : i32\n%2 = add %1, %k : i32\n%3 = add %2, %0 : i32\nyield %3\n") ==
        "\n  %0 = add %q, %k : i32\n  yield %0\n");
  CHECK(scalar("%0 = constant 5 : i32\n%1 = add %k, %0 : i32\n%2 = sub %q, %1 : i32\nyield %2\n") ==
        "\n  %0 = sub %q, %k : i32\n  %c-5 = constant -5 : i32\n  %1 = add %0, %c-5 : i32\n  yield %1\n");
  CHECK(scalar(
            "%0 = constant 4 : i32\n%1 = mul %q, %0 : i32\n%2 = constant 8 : i32\n%3 = mul %1, %2 : i32\nyield %3\n") ==
        "\n  %c32 = constant 32 : i32\n  %0 = mul %q, %c32 : i32\n  yield %0\n");
  CHECK(scalar(
            "%0 = constant 4 : i32\n%1 = div %q, %0 : i32\n%2 = constant 8 : i32\n%3 = div %1, %2 : i32\nyield %3\n") ==
        "\n  %c32 = constant 32 : i32\n  %0 = div %q, %c32 : i32\n  yield %0\n");
  CHECK(scalar(
            "%0 = constant 4 : i32\n%1 = min %q, %0 : i32\n%2 = constant 8 : i32\n%3 = min %2, %1 : i32\nyield %3\n") ==
        "\n  %c4 = constant 4 : i32\n  %0 = min %q, %c4 : i32\n  yield %0\n");
  CHECK(
      scalar("%0 = constant 3 : i32\n%1 = add %q, %0 : i32\n%2 = constant 7 : i32\n%3 = eq %2, %1 : i1\nyield %3\n") ==
      "\n  %c4 = constant 4 : i32\n  %0 = eq %q, %c4 : i1\n  yield %0\n");
  // A comparison of orders would not survive the wrap.
  CHECK(
      scalar("%0 = constant 3 : i32\n%1 = add %q, %0 : i32\n%2 = constant 7 : i32\n%3 = lt %2, %1 : i1\nyield %3\n") ==
      "\n  %c3 = constant 3 : i32\n  %0 = add %q, %c3 : i32\n  %c7 = constant 7 : i32\n  %1 = gt %0, %c7 : i1\n  yield "
      "%1\n");
}

TEST_CASE("constants fold, whatever the op") {
  CHECK(scalar("%0 = constant -7 : i32\n%1 = constant 2 : i32\n%2 = div %0, %1 : i32\nyield %2\n") ==
        "\n  %c-4 = constant -4 : i32\n  yield %c-4\n");
  CHECK(
      scalar("%0 = constant 1.4426950408889634 : f32\n%1 = constant 0.125 : f32\n%2 = mul %0, %1 : f32\nyield %2\n") ==
      "\n  %0 = constant 0.18033688 : f32\n  yield %0\n");
  CHECK(scalar("%0 = constant 3 : f32\n%1 = exp2 %0 : f32\n%2 = cast %1 : i32\nyield %2\n") ==
        "\n  %c8 = constant 8 : i32\n  yield %c8\n");
  CHECK(scalar("%0 = constant 3 : i32\n%1 = constant 4 : i32\n%2 = lt %0, %1 : i1\nyield %2\n") ==
        "\n  %true = constant 1 : i1\n  yield %true\n");
}

TEST_CASE("float identities hold for every value") {
  const std::string x = "\n  yield %x\n";
  CHECK(scalar("%0 = constant 1 : f32\n%1 = mul %0, %x : f32\n%2 = div %1, %0 : f32\nyield %2\n") == x);
  CHECK(scalar("%0 = constant 0 : f32\n%1 = sub %x, %0 : f32\nyield %1\n") == x);
  CHECK(scalar("%0 = max %x, %x : f32\nyield %0\n") == x);
  CHECK(scalar("%0 = cast %x : bf16\n%1 = cast %0 : f32\n%2 = cast %1 : bf16\n%3 = cast %2 : f32\nyield %3\n") ==
        "\n  %0 = cast %x : bf16\n  %1 = cast %0 : f32\n  yield %1\n");
  CHECK(scalar("%0 = neg %x : f32\n%1 = sub %x, %0 : f32\nyield %1\n") == "\n  %0 = add %x, %x : f32\n  yield %0\n");
  // -0 + 0 is 0, NaN * 0 is NaN, NaN - NaN is NaN, max(NaN, -inf) is -inf.
  for (const char* kept :
       {"%0 = constant 0 : f32\n  %1 = add %x, %0 : f32\n  yield %1\n",
        "%0 = constant 0 : f32\n  %1 = mul %x, %0 : f32\n  yield %1\n", "%0 = sub %x, %x : f32\n  yield %0\n",
        "%0 = eq %x, %x : i1\n  yield %0\n", "%0 = constant -inf : f32\n  %1 = max %x, %0 : f32\n  yield %1\n"}) {
    CHECK(scalar(kept) == std::string("\n  ") + kept);
  }
}

TEST_CASE("logic, comparisons and selects") {
  const std::string p = "\n  yield %p\n", not_p = "\n  %0 = logical_not %p : i1\n  yield %0\n";
  CHECK(scalar("%0 = constant 1 : i1\n%1 = logical_and %0, %p : i1\nyield %1\n") == p);
  CHECK(scalar("%0 = constant 0 : i1\n%1 = logical_or %p, %0 : i1\nyield %1\n") == p);
  CHECK(scalar("%0 = constant 0 : i1\n%1 = logical_and %p, %0 : i1\nyield %1\n") ==
        "\n  %false = constant 0 : i1\n  yield %false\n");
  CHECK(scalar("%0 = constant 1 : i1\n%1 = logical_or %p, %0 : i1\nyield %1\n") ==
        "\n  %true = constant 1 : i1\n  yield %true\n");
  CHECK(scalar("%0 = logical_and %p, %p : i1\n%1 = logical_not %0 : i1\n%2 = logical_not %1 : i1\nyield %2\n") == p);
  CHECK(scalar("%0 = constant 0 : i1\n%1 = eq %p, %0 : i1\nyield %1\n") == not_p);
  CHECK(scalar("%0 = constant 1 : i1\n%1 = constant 0 : i1\n%2 = select %p, %0, %1 : i1\nyield %2\n") == p);
  CHECK(scalar("%0 = constant 1 : i1\n%1 = constant 0 : i1\n%2 = select %p, %1, %0 : i1\nyield %2\n") == not_p);
  CHECK(scalar("%0 = select %p, %x, %x : f32\nyield %0\n") == "\n  yield %x\n");
  CHECK(scalar("%0 = constant 0 : i1\n%1 = select %0, %q, %k : i32\nyield %1\n") == "\n  yield %k\n");
  CHECK(scalar("%0 = logical_not %p : i1\n%1 = select %0, %q, %k : i32\nyield %1\n") ==
        "\n  %0 = select %p, %k, %q : i32\n  yield %0\n");
  CHECK(scalar("%0 = select %p, %q, %k : i32\n%1 = select %p, %0, %head : i32\nyield %1\n") ==
        "\n  %0 = select %p, %q, %head : i32\n  yield %0\n");
  CHECK(scalar("%0 = le %q, %k : i1\n%1 = logical_not %0 : i1\nyield %1\n") == "\n  %0 = gt %q, %k : i1\n  yield %0\n");
  CHECK(scalar("%0 = le %q, %q : i1\nyield %0\n") == "\n  %true = constant 1 : i1\n  yield %true\n");
  CHECK(scalar("%0 = constant 0 : f32\n%1 = lt %x, %0 : i1\n%2 = logical_not %1 : i1\nyield %2\n") ==
        "\n  %0 = constant 0 : f32\n  %1 = lt %x, %0 : i1\n  %2 = logical_not %1 : i1\n  yield %2\n");
}

TEST_CASE("work is done on as few axes as broadcasting allows") {
  CHECK(tiled(R"(
%c0 = constant 0 : i32
%0 = scalar scale : f32
%1 = broadcast %0 : f32[Query:64]
%2 = constant 2 : f32[Query:64]
%3 = mul %1, %2 : f32[Query:64]
%4 = iota Query : i32[Query:64]
%5 = cast %4 : f32[Query:64]
%6 = constant 1 : f32[Query:64]
%7 = add %5, %6 : f32[Query:64]
%8 = add %7, %3 : f32[Query:64]
store o(%c0), %8
store o(%c0), %3
)") == R"(
%0 = iota Query : i32[Query:64]
%1 = cast %0 : f32[Query:64]
%2 = constant 1 : f32
%3 = add %1, %2 : f32[Query:64]
%4 = scalar scale : f32
%5 = constant 2 : f32
%6 = mul %4, %5 : f32
%7 = add %3, %6 : f32[Query:64]
%c0 = constant 0 : i32
store o(%c0), %7
%8 = broadcast %6 : f32[Query:64]
store o(%c0), %8
)");
}

TEST_CASE("an allowed tile that is all true leaves no trace") {
  CHECK(tiled(R"(
%c0 = constant 0 : i32
%0 = load q(%c0, %c0) : bf16[Query:64, Depth:64]
%1 = load k(%c0, %c0) : bf16[Key:128, Depth:64]
%2 = dot Depth %0, %1 : f32[Query:64, Key:128]
%3 = constant 1 : i1[Query:64, Key:128]
%4 = constant -inf : f32
%5 = select %3, %2, %4 : f32[Query:64, Key:128]
%6 = reduce_any Key %3 : i1[Query:64]
%7 = reduce_any Query %6 : i1
%8 = reduce_max Key %5 : f32[Query:64]
%9 = when %7 (%x = %8) {
  %10 = neg %x : f32[Query:64]
  yield %10
}
store o(%c0), %9
)") == R"(
%c0 = constant 0 : i32
%0 = load q(%c0, %c0) : bf16[Query:64, Depth:64]
%1 = load k(%c0, %c0) : bf16[Key:128, Depth:64]
%2 = dot Depth %0, %1 : f32[Query:64, Key:128]
%3 = reduce_max Key %2 : f32[Query:64]
%4 = neg %3 : f32[Query:64]
store o(%c0), %4
)");
}

TEST_CASE("loops: trip counts, invariant and dead carried values, invariant code") {
  CHECK(tiled(R"(
%c0 = constant 0 : i32
%c64 = constant 64 : i32
%0 = constant 0 : f32[Query:64]
%1 = constant 1 : f32[Query:64]
%n = length Key : i32
%a.1, %b.1, %c.1, %d.1 = loop %c0 to %n (%a = %0, %b = %1, %c = %0, %d = %0) {
  ^(%i)
  %c64.1 = constant 64 : i32
  %2 = mul %n, %c64.1 : i32
  %3 = add %2, %i : i32
  %4 = load q(%2, %c0) : bf16[Query:64, Depth:64]
  %5 = load k(%3, %c0) : bf16[Key:64, Depth:64]
  %6 = dot Depth %4, %5 : f32[Query:64, Key:64]
  %7 = reduce_sum Key %6 : f32[Query:64]
  %8 = add %a, %7 : f32[Query:64]
  %9 = add %c, %7 : f32[Query:64]
  %10 = mul %8, %b : f32[Query:64]
  yield %10, %b, %9, %0
}
%11 = add %a.1, %d.1 : f32[Query:64]
%12 = mul %11, %b.1 : f32[Query:64]
store o(%c0), %12
)") == R"(
%c0 = constant 0 : i32
%n = length Key : i32
%0 = constant 0 : f32[Query:64]
%c64 = constant 64 : i32
%1 = mul %n, %c64 : i32
%2 = load q(%1, %c0) : bf16[Query:64, Depth:64]
%a.1 = loop %c0 to %n (%a = %0) {
  ^(%i)
  %3 = add %1, %i : i32
  %4 = load k(%3, %c0) : bf16[Key:64, Depth:64]
  %5 = dot Depth %2, %4 : f32[Query:64, Key:64]
  %6 = reduce_sum Key %5 : f32[Query:64]
  %7 = add %a, %6 : f32[Query:64]
  yield %7
}
%8 = constant 0 : f32
%9 = add %a.1, %8 : f32[Query:64]
store o(%c0), %9
)");
  std::string rest = "store o(%c0), %x.1\n";
  std::string start =
      "%c0 = constant 0 : i32\n%c1 = constant 1 : i32\n%0 = iota Query : i32[Query:64]\n%1 = cast %0 : f32[Query:64]\n";
  std::string body =
      " (%x = %1) {\n^(%i)\n%2 = cast %i : f32\n%3 = sub %x, %2 : f32[Query:64]\n%4 = exp %3 : f32[Query:64]\nyield "
      "%4\n}\n";
  const std::string never =
      "\n%0 = iota Query : i32[Query:64]\n%1 = cast %0 : f32[Query:64]\n%c0 = constant 0 : i32\nstore o(%c0), %1\n";
  CHECK(tiled(start + "%x.1 = loop %c1 to %c0" + body + rest) == never);
  CHECK(tiled(start + "%5 = length Key : i32\n%x.1 = loop %5 to %5" + body + rest) == never);
  CHECK(tiled(start + "%x.1 = loop %c0 to %c1" + body + rest) ==
        "\n%0 = iota Query : i32[Query:64]\n%1 = cast %0 : f32[Query:64]\n%2 = exp %1 : f32[Query:64]\n"
        "%c0 = constant 0 : i32\nstore o(%c0), %2\n");
}

TEST_CASE("a loop whose results nobody reads goes, one that stores stays") {
  CHECK(tiled("%c0 = constant 0 : i32\n%n = length Key : i32\n%a.1 = loop %c0 to %n (%a = %c0) {\n^(%i)\n%1 = add %a, "
              "%i : i32\nyield %1\n}\n") == "\n");
  const std::string storing = R"(
%c0 = constant 0 : i32
%n = length Key : i32
loop %c0 to %n {
  ^(%i)
  %0 = cast %i : f32
  %1 = broadcast %0 : f32[Query:64]
  store o(%i), %1
  yield
}
)";
  CHECK(tiled(storing) == storing);
}

TEST_CASE("work that a `when` skips stays inside it, leaves and constants do not") {
  const std::string code = R"(
%n = length Key : i32
%c0 = constant 0 : i32
%0 = gt %n, %c0 : i1
%1 = iota Query : i32[Query:64]
%2 = cast %1 : f32[Query:64]
%3 = scalar scale : f32
%x.1 = when %0 (%x = %2) {
  %4 = exp %2 : f32[Query:64]
  %5 = mul %4, %3 : f32[Query:64]
  %6 = add %x, %5 : f32[Query:64]
  yield %6
}
store o(%c0), %x.1
)";
  std::string inside = code;
  inside.replace(inside.find("%3 = scalar scale : f32\n"), 24, "");
  inside.insert(inside.find("  %4 = exp"), "  %3 = scalar scale : f32\n");
  CHECK(tiled(inside) == code);
}

TEST_CASE("a product takes the sum it is added to") {
  auto with = [&](const std::string& sum) {
    return tiled(R"(
%c0 = constant 0 : i32
%0 = load q(%c0, %c0) : bf16[Query:64, Depth:64]
%1 = load k(%c0, %c0) : bf16[Key:64, Depth:64]
%ab = dot Depth %0, %1 : f32[Query:64, Key:64]
%2 = cast %0 : f32[Query:64, Depth:64]
%3 = reduce_sum Depth %2 : f32[Query:64]
%4 = iota Key : i32[Key:64]
%5 = cast %4 : f32[Key:64]
%x = mul %3, %5 : f32[Query:64, Key:64]
%sum = add )" + sum +
                 R"( : f32[Query:64, Key:64]
%6 = reduce_sum Key %sum : f32[Query:64]
store o(%c0), %6
)");
  };
  const std::string fused = R"(
%c0 = constant 0 : i32
%0 = load q(%c0, %c0) : bf16[Query:64, Depth:64]
%1 = load k(%c0, %c0) : bf16[Key:64, Depth:64]
%2 = cast %0 : f32[Query:64, Depth:64]
%3 = reduce_sum Depth %2 : f32[Query:64]
%4 = iota Key : i32[Key:64]
%5 = cast %4 : f32[Key:64]
%x = mul %3, %5 : f32[Query:64, Key:64]
%sum = dot Depth %0, %1, %x : f32[Query:64, Key:64]
%6 = reduce_sum Key %sum : f32[Query:64]
store o(%c0), %6
)";
  CHECK(with("%x, %ab") == fused);
  CHECK(with("%ab, %x") == fused);
  CHECK(with("%ab, %ab").find("%sum = add %ab, %ab : ") != std::string::npos);
  CHECK(with("%3, %ab").find("%sum = add %") != std::string::npos);  // of another type: would need a broadcast
}

TEST_CASE("equal work is done once, also across the blocks of a nest") {
  CHECK(traced(R"(
%0 = load q : bf16[Query, Depth]
%1 = constant 0 : f32[Query]
%n = length Key : i32
%m.1 = over Key (%m = %1) {
  ^(%t: tile Key)
  %2 = load k(%t) : bf16[Key, Depth]
  %3 = load q : bf16[Query, Depth]
  %4 = dot Depth %3, %2 : f32[Query, Key]
  %5 = dot Depth %0, %2 : f32[Query, Key]
  %6 = add %4, %5 : f32[Query, Key]
  %7 = reduce_max Key %6 : f32[Query]
  yield %7
}
store o(), %m.1
)") == R"(
%0 = constant 0 : f32[Query]
%1 = load q : bf16[Query, Depth]
%m.1 = over Key (%m = %0) {
  ^(%t: tile Key)
  %2 = load k(%t) : bf16[Key, Depth]
  %3 = dot Depth %1, %2 : f32[Query, Key]
  %4 = add %3, %3 : f32[Query, Key]
  %5 = reduce_max Key %4 : f32[Query]
  yield %5
}
store o(), %m.1
)");
}

TEST_CASE("a reduction over an axis without extent is not folded: the axis may be empty") {
  std::string kept = "\n%0 = constant 1 : f32[Query, Key]\n%1 = reduce_max Key %0 : f32[Query]\nstore o(), %1\n";
  CHECK(traced(kept) == kept);
}

TEST_CASE("the order in which operands were built does not show") {
  auto build = [](bool left_first) {
    Kernel k =
        parse(test::tiled("%c0 = constant 0 : i32\n%0 = iota Query : i32[Query:64]\n%1 = cast %0 : f32[Query:64]"));
    Builder b(k, k.entry);
    Value x{2}, left, right;
    auto make_left = [&] { left = b.unary(OpCode::exp, x); };
    auto make_right = [&] { right = b.mul(x, b.scalar(3, DType::f32)); };
    if (left_first) make_left();
    make_right();
    if (!left_first) make_left();
    b.store(2, b.add(left, right), std::vector{Value{0}});
    return k;
  };
  CHECK(print(build(true)) != print(build(false)));
  CHECK(print(passes::simplify(build(true))) == print(passes::simplify(build(false))));
}

TEST_CASE("functions of a traced kernel are simplified, unused ones and parameters stay") {
  Kernel k = parse(test::traced(
      "function @1 unused(q, k, head, batch, query_length, key_length) {\n%0 = lt %q, %q : i1\nyield %0\n}"));
  Kernel s = passes::simplify(k);
  REQUIRE(s.functions.size() == 2);
  CHECK(print(s.functions[1]) ==
        "function unused(q, k, head, batch, query_length, key_length) {\n  %false = constant 0 : i1\n  yield "
        "%false\n}\n");
  CHECK(s.params.size() == k.params.size());
  Kernel placed = parse(test::placed(""));
  CHECK_THROWS_AS(passes::simplify(placed), InternalError);
}

TEST_CASE("a few hundred ops take milliseconds") {
  std::string code = "%c0 = constant 0 : i32\n%0 = iota Query : i32[Query:64]\n%x0 = cast %0 : f32[Query:64]\n";
  for (int i = 0; i < 400; ++i) {
    code += "%x" + std::to_string(i + 1) + " = " + (i % 2 ? "exp" : "tanh") + " %x" + std::to_string(i) +
            " : f32[Query:64]\n";
  }
  Kernel k = parse(test::tiled(code + "store o(%c0), %x400\n"));
  auto start = std::chrono::steady_clock::now();
  Kernel s = passes::simplify(k);
  double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  CHECK(s.entry.ops.size() == k.entry.ops.size());
  CHECK(ms < 1000);  // 2 ms on an idle core; the bound is for sanitizers and busy machines
}
