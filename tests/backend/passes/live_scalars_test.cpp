// How many scalars are alive at once, on kernels in which they can be counted by eye.
#include <tessera/backend/passes/live_scalars.h>

#include <doctest/doctest.h>

#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/verify.h>

using namespace tessera;

namespace {

int live(const std::string& code) {
  const ir::Kernel kernel = ir::parse(
      "kernel f placed grid(Query:64, Head:1) threads 128 {\n"
      "  param o: out i32[Query]\n"
      "  param doc: table i32 rank 1\n"
      "  layout #0 {reg 2*Query:8 | lane 4 8*Query:1 | warp 4*Query:16}\n" +
      code + "}\n");
  REQUIRE(ir::verify(kernel) == "");
  return backend::most_live_scalars(kernel);
}

}  // namespace

TEST_CASE("a value is alive from its definition to its last use") {
  CHECK(live("") == 0);
  CHECK(live("  %a = length Query : i32\n  %b = add %a, %a : i32\n  %c = add %b, %b : i32\n"
             "  %d = gather doc(%c) : i32\n") == 1);
  CHECK(live("  %a = length Query : i32\n  %b = length Head : i32\n  %c = add %a, %b : i32\n"
             "  %d = gather doc(%c) : i32\n") == 2);
  CHECK(live("  %a = length Query : i32\n  %b = length Head : i32\n  %c = add %a, %b : i32\n"
             "  %d = add %c, %b : i32\n  %e = add %d, %a : i32\n  %f = gather doc(%e) : i32\n") == 3);
}

TEST_CASE("order matters, not number") {
  std::string at_once, one_by_one;
  for (const char* v : {"%a", "%b", "%c", "%d"}) {
    at_once += std::string("  ") + v + " = length Query : i32\n";
    one_by_one += std::string("  ") + v + " = length Query : i32\n  " + v + "1 = gather doc(" + v + ") : i32\n";
  }
  for (const char* v : {"%a", "%b", "%c", "%d"}) at_once += std::string("  ") + v + "1 = gather doc(" + v + ") : i32\n";
  CHECK(live(at_once) == 4);
  CHECK(live(one_by_one) == 1);
}

TEST_CASE("constants, conditions, tiles and what nobody uses need no register") {
  CHECK(live("  %0 = gather doc(5) : i32\n") == 0);
  CHECK(live("  %a = constant 7 : i32\n  %0 = iota Query : i32[Query:64] #0\n  %1 = add %0, %a : i32[Query:64] #0\n"
             "  store o(0), %1\n") == 0);
  CHECK(live("  %a = length Query : i32\n  %b = length Head : i32\n") == 0);
  CHECK(live("  %a = length Query : i32\n  %0 = lt %a, 3 : i1\n  %1 = gt %a, 5 : i1\n  %2 = logical_and %0, %1 : i1\n"
             "  when %2 {\n    %3 = gather doc(0) : i32\n    yield\n  }\n") == 1);
}

TEST_CASE("what a loop reads from outside lives as long as the loop") {
  const std::string a = "  %a = length Query : i32\n",
                    other = "  %n = length Head : i32\n  %m = gather doc(%n) : i32\n";
  // After the only use of %a: %i and %u, or %u and %v.
  const auto loop = [](const char* first) {
    return std::string("  loop 0 to 9 {\n    ^(%i)\n    %u = add %i, ") + first +
           " : i32\n    %v = add %u, %i : i32\n    %w = add %v, %u : i32\n    %x = gather doc(%w) : i32\n    yield\n  "
           "}\n";
  };
  CHECK(live(loop("1")) == 2);
  CHECK(live(a + other + loop("%a")) == 3);
  // A use after the loop makes it live through, but no longer than once.
  CHECK(live(a + other + loop("%a") + "  %y = gather doc(%a) : i32\n") == 3);
  CHECK(live(a + other + loop("1") + "  %y = gather doc(%a) : i32\n") == 3);
}

TEST_CASE("what an inner loop reads from outside both lives as long as the outer loop") {
  const std::string text =
      "  %a = length Query : i32\n  %n = length Head : i32\n  %m = gather doc(%n) : i32\n"
      "  loop 0 to 9 {\n    ^(%i)\n    loop 0 to 9 {\n      ^(%j)\n      %u = gather doc(%a) : i32\n      yield\n    "
      "}\n"
      "    %v = length Query : i32\n    %w = length Head : i32\n    %x = add %v, %w : i32\n"
      "    %y = gather doc(%x) : i32\n    yield\n  }\n";
  CHECK(live(text) == 3);  // %a beside %v and %w
}

TEST_CASE("carried values are alive across the trip") {
  CHECK(live("  %r = loop 0 to 9 (%n = 0) {\n    ^(%i)\n    %1 = gather doc(%n) : i32\n    %2 = add %1, 1 : i32\n"
             "    yield %n\n  }\n") == 2);
  CHECK(live("  %r = loop 0 to 9 (%n = 0) {\n    ^(%i)\n    %1 = gather doc(%n) : i32\n    %2 = add %1, 1 : i32\n"
             "    yield %2\n  }\n") == 1);
}

TEST_CASE("roles are counted one after the other") {
  const std::string two =
      "%a = length Query : i32\n    %b = length Head : i32\n    %c = add %a, %b : i32\n"
      "    %d = gather doc(%c) : i32\n  }\n";
  std::string text =
      "kernel f placed grid(Query:64, Head:1) threads 256 {\n  param doc: table i32 rank 1\n"
      "  role @0 one x1\n  role @1 other x1\n  role @0 {\n    " +
      two + "  role @1 {\n    ";
  std::string again = two;
  for (std::size_t at = 0; (at = again.find('%', at)) != std::string::npos; at += 2) again.insert(at + 1, "x");
  CHECK(backend::most_live_scalars(ir::parse(text + again + "}\n")) == 2);
}
