#include <tessera/dsl/passes/simplify.h>

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
  const std::string q = "\n  yield %q\n", zero = "\n  yield 0\n";
  CHECK(scalar("%0 = add 0, %q : i32\nyield %0\n") == q);
  CHECK(scalar("%0 = sub %q, 0 : i32\nyield %0\n") == q);
  CHECK(scalar("%0 = mul 1, %q : i32\nyield %0\n") == q);
  CHECK(scalar("%0 = div %q, 1 : i32\nyield %0\n") == q);
  CHECK(scalar("%0 = mul %q, 0 : i32\nyield %0\n") == zero);
  CHECK(scalar("%0 = div %q, 0 : i32\nyield %0\n") == zero);
  CHECK(scalar("%0 = mod %q, 1 : i32\nyield %0\n") == zero);
  CHECK(scalar("%0 = sub %q, %q : i32\nyield %0\n") == zero);
  CHECK(scalar("%0 = max %q, %q : i32\nyield %0\n") == q);
  CHECK(scalar("%0 = neg %q : i32\n%1 = neg %0 : i32\nyield %1\n") == q);
  CHECK(scalar("%0 = add %q, %k : i32\n%1 = sub %0, %k : i32\nyield %1\n") == q);
  CHECK(scalar("%0 = sub %q, %k : i32\n%1 = add %k, %0 : i32\nyield %1\n") == q);
  CHECK(scalar("%0 = sub %k, %q : i32\n%1 = sub %k, %0 : i32\nyield %1\n") == q);
}

TEST_CASE("chains of i32 constants become one") {
  CHECK(scalar("%0 = add %q, 1 : i32\n%1 = add %0, 2 : i32\nyield %1\n") == "\n  %0 = add %q, 3 : i32\n  yield %0\n");
  CHECK(scalar("%0 = sub %q, 5 : i32\n%1 = add %0, %k : i32\n%2 = add %1, 5 : i32\nyield %2\n") ==
        "\n  %0 = add %q, %k : i32\n  yield %0\n");
  CHECK(scalar("%0 = add %k, 5 : i32\n%1 = sub %q, %0 : i32\nyield %1\n") ==
        "\n  %0 = sub %q, %k : i32\n  %1 = add %0, -5 : i32\n  yield %1\n");
  CHECK(scalar("%0 = mul %q, 4 : i32\n%1 = mul %0, 8 : i32\nyield %1\n") == "\n  %0 = mul %q, 32 : i32\n  yield %0\n");
  CHECK(scalar("%0 = div %q, 4 : i32\n%1 = div %0, 8 : i32\nyield %1\n") == "\n  %0 = div %q, 32 : i32\n  yield %0\n");
  CHECK(scalar("%0 = min %q, 4 : i32\n%1 = min 8, %0 : i32\nyield %1\n") == "\n  %0 = min %q, 4 : i32\n  yield %0\n");
  CHECK(scalar("%0 = add %q, 3 : i32\n%1 = eq 7, %0 : i1\nyield %1\n") == "\n  %0 = eq %q, 4 : i1\n  yield %0\n");
  // A comparison of orders would not survive the wrap.
  CHECK(scalar("%0 = add %q, 3 : i32\n%1 = lt 7, %0 : i1\nyield %1\n") ==
        "\n  %0 = add %q, 3 : i32\n  %1 = gt %0, 7 : i1\n  yield %1\n");
}

TEST_CASE("constants fold, whatever the op") {
  CHECK(scalar("%0 = div -7, 2 : i32\nyield %0\n") == "\n  yield -4\n");
  CHECK(scalar("%0 = mul 1.4426950408889634, 0.125 : f32\nyield %0\n") == "\n  yield 0.18033688:f32\n");
  CHECK(scalar("%0 = exp2 3 : f32\n%1 = cast %0 : i32\nyield %1\n") == "\n  yield 8\n");
  CHECK(scalar("%0 = lt 3, 4 : i1\nyield %0\n") == "\n  yield true\n");
}

TEST_CASE("float identities hold for every value") {
  const std::string x = "\n  yield %x\n";
  CHECK(scalar("%0 = mul 1, %x : f32\n%1 = div %0, 1 : f32\nyield %1\n") == x);
  CHECK(scalar("%0 = sub %x, 0 : f32\nyield %0\n") == x);
  CHECK(scalar("%0 = max %x, %x : f32\nyield %0\n") == x);
  CHECK(scalar("%0 = cast %x : bf16\n%1 = cast %0 : f32\n%2 = cast %1 : bf16\n%3 = cast %2 : f32\nyield %3\n") ==
        "\n  %0 = cast %x : bf16\n  %1 = cast %0 : f32\n  yield %1\n");
  CHECK(scalar("%0 = neg %x : f32\n%1 = sub %x, %0 : f32\nyield %1\n") == "\n  %0 = add %x, %x : f32\n  yield %0\n");
  // -0 + 0 is 0, NaN * 0 is NaN, NaN - NaN is NaN, max(NaN, -inf) is -inf.
  for (const char* kept : {"%0 = add %x, 0 : f32\n  yield %0\n", "%0 = mul %x, 0 : f32\n  yield %0\n",
                           "%0 = sub %x, %x : f32\n  yield %0\n", "%0 = eq %x, %x : i1\n  yield %0\n",
                           "%0 = max %x, -inf : f32\n  yield %0\n"}) {
    CHECK(scalar(kept) == std::string("\n  ") + kept);
  }
}

TEST_CASE("logic, comparisons and selects") {
  const std::string p = "\n  yield %p\n", not_p = "\n  %0 = logical_not %p : i1\n  yield %0\n";
  CHECK(scalar("%0 = logical_and true, %p : i1\nyield %0\n") == p);
  CHECK(scalar("%0 = logical_or %p, false : i1\nyield %0\n") == p);
  CHECK(scalar("%0 = logical_and %p, false : i1\nyield %0\n") == "\n  yield false\n");
  CHECK(scalar("%0 = logical_or %p, true : i1\nyield %0\n") == "\n  yield true\n");
  CHECK(scalar("%0 = logical_and %p, %p : i1\n%1 = logical_not %0 : i1\n%2 = logical_not %1 : i1\nyield %2\n") == p);
  CHECK(scalar("%0 = eq %p, false : i1\nyield %0\n") == not_p);
  CHECK(scalar("%0 = select %p, true, false : i1\nyield %0\n") == p);
  CHECK(scalar("%0 = select %p, false, true : i1\nyield %0\n") == not_p);
  CHECK(scalar("%0 = select %p, %x, %x : f32\nyield %0\n") == "\n  yield %x\n");
  CHECK(scalar("%0 = select false, %q, %k : i32\nyield %0\n") == "\n  yield %k\n");
  CHECK(scalar("%0 = logical_not %p : i1\n%1 = select %0, %q, %k : i32\nyield %1\n") ==
        "\n  %0 = select %p, %k, %q : i32\n  yield %0\n");
  CHECK(scalar("%0 = select %p, %q, %k : i32\n%1 = select %p, %0, %head : i32\nyield %1\n") ==
        "\n  %0 = select %p, %q, %head : i32\n  yield %0\n");
  CHECK(scalar("%0 = le %q, %k : i1\n%1 = logical_not %0 : i1\nyield %1\n") == "\n  %0 = gt %q, %k : i1\n  yield %0\n");
  CHECK(scalar("%0 = le %q, %q : i1\nyield %0\n") == "\n  yield true\n");
  CHECK(scalar("%0 = lt %x, 0 : i1\n%1 = logical_not %0 : i1\nyield %1\n") ==
        "\n  %0 = lt %x, 0 : i1\n  %1 = logical_not %0 : i1\n  yield %1\n");
}

TEST_CASE("work is done on as few axes as broadcasting allows") {
  CHECK(tiled(R"(
%0 = scalar scale : f32
%1 = broadcast %0 : f32[Query:64]
%2 = constant 2 : f32[Query:64]
%3 = mul %1, %2 : f32[Query:64]
%4 = iota Query : i32[Query:64]
%5 = cast %4 : f32[Query:64]
%6 = constant 1 : f32[Query:64]
%7 = add %5, %6 : f32[Query:64]
%8 = add %7, %3 : f32[Query:64]
store o(0), %8
store o(0), %3
)") == R"(
%0 = iota Query : i32[Query:64]
%1 = cast %0 : f32[Query:64]
%2 = add %1, 1 : f32[Query:64]
%3 = scalar scale : f32
%4 = mul %3, 2 : f32
%5 = add %2, %4 : f32[Query:64]
store o(0), %5
%6 = broadcast %4 : f32[Query:64]
store o(0), %6
)");
}

TEST_CASE("an allowed tile that is all true leaves no trace") {
  CHECK(tiled(R"(
%0 = load q(0, 0) : bf16[Query:64, Depth:64]
%1 = load k(0, 0) : bf16[Key:128, Depth:64]
%2 = dot Depth %0, %1 : f32[Query:64, Key:128]
%3 = constant 1 : i1[Query:64, Key:128]
%4 = select %3, %2, -inf : f32[Query:64, Key:128]
%5 = reduce_any Key %3 : i1[Query:64]
%6 = reduce_any Query %5 : i1
%7 = reduce_max Key %4 : f32[Query:64]
%8 = when %6 (%x = %7) {
  %9 = neg %x : f32[Query:64]
  yield %9
}
store o(0), %8
)") == R"(
%0 = load q(0, 0) : bf16[Query:64, Depth:64]
%1 = load k(0, 0) : bf16[Key:128, Depth:64]
%2 = dot Depth %0, %1 : f32[Query:64, Key:128]
%3 = reduce_max Key %2 : f32[Query:64]
%4 = neg %3 : f32[Query:64]
store o(0), %4
)");
}

TEST_CASE("loops: trip counts, invariant and dead carried values, invariant code") {
  CHECK(tiled(R"(
%0 = constant 0 : f32[Query:64]
%1 = constant 1 : f32[Query:64]
%n = length Key : i32
%a.1, %b.1, %c.1, %d.1 = loop 0 to %n (%a = %0, %b = %1, %c = %0, %d = %0) {
  ^(%i)
  %2 = mul %n, 64 : i32
  %3 = add %2, %i : i32
  %4 = load q(%2, 0) : bf16[Query:64, Depth:64]
  %5 = load k(%3, 0) : bf16[Key:64, Depth:64]
  %6 = dot Depth %4, %5 : f32[Query:64, Key:64]
  %7 = reduce_sum Key %6 : f32[Query:64]
  %8 = add %a, %7 : f32[Query:64]
  %9 = add %c, %7 : f32[Query:64]
  %10 = mul %8, %b : f32[Query:64]
  yield %10, %b, %9, %0
}
%11 = add %a.1, %d.1 : f32[Query:64]
%12 = mul %11, %b.1 : f32[Query:64]
store o(0), %12
)") == R"(
%n = length Key : i32
%0 = constant 0 : f32[Query:64]
%1 = mul %n, 64 : i32
%2 = load q(%1, 0) : bf16[Query:64, Depth:64]
%a.1 = loop 0 to %n (%a = %0) {
  ^(%i)
  %3 = add %1, %i : i32
  %4 = load k(%3, 0) : bf16[Key:64, Depth:64]
  %5 = dot Depth %2, %4 : f32[Query:64, Key:64]
  %6 = reduce_sum Key %5 : f32[Query:64]
  %7 = add %a, %6 : f32[Query:64]
  yield %7
}
%8 = add %a.1, 0 : f32[Query:64]
store o(0), %8
)");
  std::string rest = "store o(0), %x.1\n";
  std::string start = "%0 = iota Query : i32[Query:64]\n%1 = cast %0 : f32[Query:64]\n";
  std::string body =
      " (%x = %1) {\n^(%i)\n%2 = cast %i : f32\n%3 = sub %x, %2 : f32[Query:64]\n%4 = exp %3 : f32[Query:64]\nyield "
      "%4\n}\n";
  const std::string never = "\n%0 = iota Query : i32[Query:64]\n%1 = cast %0 : f32[Query:64]\nstore o(0), %1\n";
  CHECK(tiled(start + "%x.1 = loop 1 to 0" + body + rest) == never);
  CHECK(tiled(start + "%5 = length Key : i32\n%x.1 = loop %5 to %5" + body + rest) == never);
  CHECK(
      tiled(start + "%x.1 = loop 0 to 1" + body + rest) ==
      "\n%0 = iota Query : i32[Query:64]\n%1 = cast %0 : f32[Query:64]\n%2 = exp %1 : f32[Query:64]\nstore o(0), %2\n");
}

TEST_CASE("a loop whose results nobody reads goes, one that stores stays") {
  CHECK(tiled("%n = length Key : i32\n%a.1 = loop 0 to %n (%a = 0) {\n  ^(%i)\n  %0 = add %a, %i : i32\n  yield "
              "%0\n}\n") == "\n");
  const std::string storing = R"(
%n = length Key : i32
loop 0 to %n {
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
%0 = gt %n, 0 : i1
%1 = iota Query : i32[Query:64]
%2 = cast %1 : f32[Query:64]
%3 = scalar scale : f32
%x.1 = when %0 (%x = %2) {
  %4 = exp %2 : f32[Query:64]
  %5 = mul %4, %3 : f32[Query:64]
  %6 = add %x, %5 : f32[Query:64]
  yield %6
}
store o(0), %x.1
)";
  std::string inside = code;
  inside.replace(inside.find("%3 = scalar scale : f32\n"), 24, "");
  inside.insert(inside.find("  %4 = exp"), "  %3 = scalar scale : f32\n");
  CHECK(tiled(inside) == code);
}

TEST_CASE("a product takes the sum it is added to") {
  auto with = [&](const std::string& sum) {
    return tiled(R"(
%0 = load q(0, 0) : bf16[Query:64, Depth:64]
%1 = load k(0, 0) : bf16[Key:64, Depth:64]
%ab = dot Depth %0, %1 : f32[Query:64, Key:64]
%2 = cast %0 : f32[Query:64, Depth:64]
%3 = reduce_sum Depth %2 : f32[Query:64]
%4 = iota Key : i32[Key:64]
%5 = cast %4 : f32[Key:64]
%x = mul %3, %5 : f32[Query:64, Key:64]
%sum = add )" + sum +
                 R"( : f32[Query:64, Key:64]
%6 = reduce_sum Key %sum : f32[Query:64]
store o(0), %6
)");
  };
  const std::string fused = R"(
%0 = load q(0, 0) : bf16[Query:64, Depth:64]
%1 = load k(0, 0) : bf16[Key:64, Depth:64]
%2 = cast %0 : f32[Query:64, Depth:64]
%3 = reduce_sum Depth %2 : f32[Query:64]
%4 = iota Key : i32[Key:64]
%5 = cast %4 : f32[Key:64]
%x = mul %3, %5 : f32[Query:64, Key:64]
%sum = dot Depth %0, %1, %x : f32[Query:64, Key:64]
%6 = reduce_sum Key %sum : f32[Query:64]
store o(0), %6
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
    Kernel k = parse(test::tiled("%0 = iota Query : i32[Query:64]\n%1 = cast %0 : f32[Query:64]"));
    Builder b(k, k.entry);
    Value x{1}, left, right;
    auto make_left = [&] { left = b.unary(OpCode::exp, x); };
    auto make_right = [&] { right = b.mul(x, b.scalar(3, DType::f32)); };
    if (left_first) make_left();
    make_right();
    if (!left_first) make_left();
    b.store(2, b.add(left, right), std::vector{b.constant(0)});
    return k;
  };
  CHECK(print(build(true)) != print(build(false)));
  CHECK(print(passes::simplify(build(true))) == print(passes::simplify(build(false))));
}
