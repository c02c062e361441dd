#include <tessera/dsl/ir/verify.h>

#include <regex>

#include <doctest/doctest.h>

#include <tessera/dsl/ir/builder.h>
#include <tessera/dsl/ir/print.h>

#include "dsl/ir/kernel_text.h"

using namespace tessera;
using namespace tessera::ir;

namespace {

std::string complaint(const std::string& text) {
  return std::regex_replace(verify(parse(text)), std::regex(" at <text>:[0-9]+"), "");
}

struct Row {
  const char* code;
  const char* complaint;
};

template <std::size_t N>
void check_all(std::string (*around)(const std::string&), const Row (&rows)[N]) {
  for (const Row& row : rows) {
    CAPTURE(row.code);
    CHECK(complaint(around(row.code)) == row.complaint);
  }
}

}  // namespace

TEST_CASE("a complaint names the op and its line") {
  CHECK(verify(parse(test::traced("%0 = length Key : i32\n%1 = neg %0 : f32"))) ==
        "op 'neg' at <text>:12: gives f32, must give i32");
}

TEST_CASE("leaves") {
  check_all(
      test::traced,
      {
          {"%0 = constant 0.5 : i32", "op 'constant': 0.5 is not a number of type i32"},
          {"%0 = constant 3000000000 : i32", "op 'constant': 3000000000 is not a number of type i32"},
          {"%0 = constant 2 : i1", "op 'constant': 2 is not a number of type i1"},
          {"%0 = constant 0 : tile Key", "op 'constant': gives tile Key, must give a tile or scalar"},
          {"%0 = program_id Key : i32", "op 'program_id': Key is not an axis of the grid"},
          {"%0 = program_id Query : f32", "op 'program_id': gives f32, must give i32"},
          {"%0 = length Key : i32[Key]", "op 'length': gives i32[Key], must give i32"},
          {"%0 = scalar q : bf16", "op 'scalar': parameter 'q' is not a scalar"},
          {"%0 = scalar scale : i32", "op 'scalar': gives i32, but parameter 'scale' is f32"},
          {"%0 = position Key : i32[Query]", "op 'position': gives i32[Query], must give i32[Key]"},
          {"%0 = position Key : f32[Key]", "op 'position': gives f32[Key], must give i32[Key]"},
          {"%0 = length Key : i32\n%1 = position Key(%0) : i32[Key]", "op 'position': takes a tile of Key, not i32"},
          {"%0 = length Key : i32\n%1 = allowed %0 : i1[Query, Key]", "op 'allowed': gives i1[Query, Key] for i32"},
      });
}

TEST_CASE("elementwise ops") {
  check_all(test::traced, {
                              {"%0 = length Key : i32\n%1 = neg %0, %0 : i32", "op 'neg': has 2 operands, must have 1"},
                              {"%0 = length Key : i32\n%1 = exp %0 : i32", "op 'exp': takes floats, not i32"},
                              {"%0 = constant 0 : f32\n%1 = length Key : i32\n%2 = add %0, %1 : f32",
                               "op 'add': operands have different dtypes: f32 and i32"},
                              {"%0 = constant 0 : f32[Query]\n%1 = constant 0 : f32[Key]\n%2 = add %0, %1 : f32[Query]",
                               "op 'add': gives f32[Query], must give f32[Query, Key]"},
                              {"%0 = constant 0 : f32\n%1 = lt %0, %0 : f32", "op 'lt': gives f32, must give i1"},
                              {"%0 = constant 0 : f32\n%1 = select %0, %0, %0 : f32",
                               "op 'select': the condition is f32, must be i1"},
                              {"%0 = constant 0 : f32\n%1 = cast %0 : i1", "op 'cast': casts to i1"},
                              {"%0 = constant 0 : i1\n%1 = add %0, %0 : i1", "op 'add': takes numbers, not i1"},
                          });
  check_all(test::tiled,
            {{"%0 = constant 0 : f32[Query:4]\n%1 = constant 0 : f32[Query:8]\n%2 = add %0, %1 : f32[Query:4]",
              "op 'add': axis Query has 4 elements in one operand and 8 in another"}});
}

TEST_CASE("tile ops") {
  check_all(
      test::traced,
      {
          {"%0 = load q : bf16[Query, Depth]\n%1 = dot Depth %0, %0 : f32[Query]",
           "op 'dot': operands share 2 axes (Query, Depth), must share one: bf16[Query, Depth] and bf16[Query, Depth]"},
          {"%0 = constant 0 : f32[Query]\n%1 = constant 0 : f32[Key]\n%2 = dot Depth %0, %1 : f32[Query, Key]",
           "op 'dot': operands share 0 axes, must share one: f32[Query] and f32[Key]"},
          {"%0 = constant 0 : f32[Query, Depth]\n%1 = constant 0 : f32[Key, Depth]\n%2 = dot Key %0, %1 : f32[Query, "
           "Key]",
           "op 'dot': contracts Key, but its operands share Depth"},
          {"%0 = constant 0 : f32[Query, Depth]\n%1 = constant 0 : f32[Key, Depth]\n%2 = dot Depth %0, %1 : "
           "bf16[Query, Key]",
           "op 'dot': gives bf16[Query, Key], must give f32[Query, Key]"},
          {"%0 = constant 0 : f32[Query, Depth]\n%1 = constant 0 : f32[Key, Depth]\n%2 = dot Depth %0, %1, %0 : "
           "f32[Query, Key]",
           "op 'dot': adds f32[Query, Depth] to a product of type f32[Query, Key]"},
          {"%0 = constant 0 : f32[Query, Depth]\n%1 = constant 0 : bf16[Key, Depth]\n%2 = dot Depth %0, %1 : "
           "f32[Query, Key]",
           "op 'dot': operands have dtypes it cannot multiply: f32[Query, Depth] and bf16[Key, Depth]"},
          {"%0 = constant 0 : f32[Query]\n%1 = dot Query %0 : f32", "op 'dot': has 1 operands, must have at least 2"},
          {"%0 = constant 0 : f32[Query]\n%1 = reduce_max Key %0 : f32", "op 'reduce_max': f32[Query] has no axis Key"},
          {"%0 = constant 0 : f32[Query]\n%1 = reduce_max Query %0 : f32[Query]",
           "op 'reduce_max': gives f32[Query], must give f32"},
          {"%0 = constant 0 : f32[Query]\n%1 = reduce_any Query %0 : f32", "op 'reduce_any': takes i1, not f32[Query]"},
          {"%0 = constant 0 : f32[Query]\n%1 = broadcast %0 : f32[Key]",
           "op 'broadcast': f32[Query] does not become f32[Key]"},
          {"over Key {\n^(%t: tile Key)\n%0 = allowed @2 %t : i1[Query, Key]\nyield\n}",
           "op 'allowed': refers to function 2 of 1"},
          {"over Key {\n^(%t: tile Key)\n%0 = allowed @0 %t : i1[Query, Depth]\nyield\n}",
           "op 'allowed': gives i1[Query, Depth] for tile Key"},
          {"over Key {\n^(%t: tile Key)\n%0 = constant 0 : f32[Key]\n%1 = apply @0 %t, %0 : f32[Key]\nyield\n}",
           "op 'apply': gives 1 values to function 'causal', which takes 0"},
          {"over Key {\n^(%t: tile Key)\n%0 = constant 0 : f32[Key]\n%1 = apply %t, %0 : f32[Key]\nyield\n}",
           "op 'apply': names no function"},
          {"%0 = constant 0 : f32[Key]\n%1 = apply @0 %0, %0 : f32[Key]",
           "op 'apply': its first operand is f32[Key], must be a tile handle"},
      });
}

TEST_CASE("memory") {
  check_all(
      test::traced,
      {
          {"%0 = load o : f32[Query]", "op 'load': parameter 'o' is not an input"},
          {"%0 = load q : f32[Query, Depth]",
           "op 'load': moves f32[Query, Depth], but parameter 'q' is bf16[Query, Depth]"},
          {"%0 = load q : bf16[Query]", "op 'load': moves bf16[Query], but parameter 'q' is bf16[Query, Depth]"},
          {"%0 = length Key : i32\n%1 = load k(%0) : bf16[Key, Depth]",
           "op 'load': coordinate i32 is no tile of an axis of 'k'"},
          {"over Key {\n^(%t: tile Key)\n%0 = load q(%t) : bf16[Query, Depth]\nyield\n}",
           "op 'load': coordinate tile Key is no tile of an axis of 'q'"},
          {"%0 = length Key : i32\n%1 = load q( ; bound Key %0) : bf16[Query, Depth]",
           "op 'load': bounds axis Key, which 'q' lacks"},
          {"%0 = constant 0 : f32[Query]\nstore q(), %0", "op 'store': parameter 'q' is not an output"},
          {"%0 = constant 0 : f32[Key]\nstore o(), %0", "op 'store': moves f32[Key], but parameter 'o' is f32[Query]"},
          {"%0 = length Key : i32\n%1 = gather doc(%0, %0) : i32",
           "op 'gather': has 2 indices, but table 'doc' has rank 1"},
          {"%0 = constant 0 : f32\n%1 = gather doc(%0) : i32", "op 'gather': an index is f32, must be i32"},
          {"%0 = length Key : i32\n%1 = gather doc(%0) : f32", "op 'gather': gives f32, must give i32"},
          {"%0 = length Key : i32\n%1 = gather scale(%0) : f32", "op 'gather': parameter 'scale' is not a table"},
      });
  check_all(
      test::tiled,
      {
          {"%0 = length Key : i32\n%1 = load k(%0) : bf16[Key:64, Depth:64]",
           "op 'load': has 1 coordinates, but 'k' has 2 axes"},
          {"%0 = constant 0 : f32\n%1 = load k(%0, %0) : bf16[Key:64, Depth:64]",
           "op 'load': a coordinate is f32, must be i32"},
          {"%0 = constant 0 : f32\n%1 = length Key : i32\n%2 = load k(%1, %1 ; bound Key %0) : bf16[Key:64, Depth:64]",
           "op 'load': the bound is f32, must be i32"},
      });
}

TEST_CASE("control") {
  check_all(
      test::traced,
      {
          {"%0 = constant 0 : f32\nloop %0 to %0 {\n^(%i)\nyield\n}", "op 'loop': a bound is f32, must be i32"},
          {"%0 = length Key : i32\nloop %0 to %0 {\n^(%i: f32)\nyield\n}", "op 'loop': its index is f32, must be i32"},
          {"%0 = length Key : i32\nloop %0 to %0 {\n^(%i)\n}", "op 'loop': its region does not end in a yield"},
          {"%0 = length Key : i32\n%2 = loop %0 to %0 (%1 = %0) {\n^(%i)\nyield\n}",
           "op 'loop': its region yields 0 values, must yield 1"},
          {"%0 = length Key : i32\n%3 = loop %0 to %0 (%1 = %0) {\n^(%i)\n%2 = constant 0 : f32\nyield %2\n}",
           "op 'loop': carried value 0 is f32 as yielded value, but i32 as result"},
          {"%0 = length Key : i32\nloop %0 to %0 (%1 = %0) {\n^(%i)\nyield %1\n}",
           "op 'loop': carries 1 values but has 0 results"},
          {"over Key mask @4 {\n^(%t: tile Key)\nyield\n}", "op 'over': refers to function 4 of 1"},
          {"over Key {\n^(%t: tile Query)\nyield\n}", "op 'over': its index is tile Query, must be a tile of Key"},
          {"%0 = constant 0 : f32\nover Key bound %0 {\n^(%t: tile Key)\nyield\n}",
           "op 'over': the bound is f32, must be i32"},
          {"%0 = length Key : i32\nwhen %0 {\nyield\n}", "op 'when': the condition is i32, must be i1"},
          {"yield", "the entry block ends in a yield"},
          {"yield\n%0 = length Key : i32", "op 'yield': is not the last op of its region"},
      });
}

TEST_CASE("placed ops") {
  check_all(
      test::placed,
      {
          {"%0 = alloc : f32", "op 'alloc': gives f32, must give a ring or a barrier"},
          {"%0 = alloc : barrier<0 x1>", "op 'alloc': expects 0 arrivals"},
          {"%0 = alloc : barrier<1 x0>", "op 'alloc': has 0 stages"},
          {"%0 = alloc : barrier<1 x1>\n%c0 = constant 0 : i32\n%1 = slot %0, %c0 : view<bf16[Key:8, Depth:64]>",
           "op 'slot': takes a ring, not barrier<1 x1>"},
          {"%0 = alloc : shared<bf16[Key:8, Depth:64] x1>\n%c0 = constant 0 : i32\n%1 = slot %0, %c0 : "
           "view<bf16[Key:4, Depth:64]>",
           "op 'slot': gives view<bf16[Key:4, Depth:64]> of shared<bf16[Key:8, Depth:64] x1>"},
          {"%0 = alloc : shared<bf16[Key:8, Depth:64] x1>\n%c0 = constant 0 : f32\n%1 = slot %0, %c0 : "
           "view<bf16[Key:8, Depth:64]>",
           "op 'slot': the ticket is f32, must be i32"},
          {"%0 = alloc : shared<bf16[Key:8, Depth:64] x1>\n%c0 = constant 0 : i32\n"
           "%1 = slot %0, %c0 : view<bf16[Key:8, Depth:64]>\n%2 = rows Query %1, %c0 : view<bf16[Key:8, Depth:64]>",
           "op 'rows': view<bf16[Key:8, Depth:64]> has no axis Query"},
          {"%0 = alloc : shared<bf16[Key:8, Depth:64] x1>\n%c0 = constant 0 : i32\n"
           "%1 = slot %0, %c0 : view<bf16[Key:8, Depth:64]>\n%2 = rows Key %1, %c0 : view<bf16[Key:16, Depth:64]>",
           "op 'rows': gives view<bf16[Key:16, Depth:64]> of view<bf16[Key:8, Depth:64]>"},
          {"%c0 = constant 0 : i32\nwait %c0, %c0", "op 'wait': takes a barrier, not i32"},
          {"%c0 = constant 0 : i32\n%0 = alloc : barrier<1 x1>\nwait 2 %0, %c0",
           "op 'wait': waits 2 uses back, at most 1"},
          {"%c0 = constant 0 : f32\n%0 = alloc : barrier<1 x1>\narrive %0, %c0",
           "op 'arrive': the ticket is f32, must be i32"},
          {"%c0 = constant 0 : i32\n%0 = alloc : barrier<1 x1>\nexpect 0 %0, %c0", "op 'expect': announces 0 bytes"},
          {"%c0 = constant 0 : i32\n%0 = alloc : barrier<1 x1>\ncopy k(%c0 ; %0, %c0 ; %c0, %c0)",
           "op 'copy': writes to a view, not to i32"},
          {"%c0 = constant 0 : i32\n%0 = alloc : barrier<1 x1>\n%1 = alloc : shared<bf16[Key:8, Depth:64] x1>\n"
           "%2 = slot %1, %c0 : view<bf16[Key:8, Depth:64]>\ncopy k(%2 ; %0, %c0 ; %c0)",
           "op 'copy': has 1 coordinates, but 'k' has 2 axes"},
          {"%c0 = constant 0 : i32\n%0 = alloc : barrier<1 x1>\n%1 = alloc : shared<bf16[Key:8, Depth:64] x1>\n"
           "%2 = slot %1, %c0 : view<bf16[Key:8, Depth:64]>\ncopy q(%2 ; %0, %c0 ; %c0, %c0)",
           "op 'copy': moves view<bf16[Key:8, Depth:64]>, but parameter 'q' is bf16[Query, Depth]"},
          {"%0 = constant 0 : bf16[Query:64, Depth:16]\n%1 = constant 0 : bf16[Key:8, Depth:16]\n"
           "%2 = mma Depth %0, %1 : f32[Query:64, Key:8]",
           "op 'mma': reads its second operand from shared memory, not from bf16[Key:8, Depth:16]"},
          {"%0 = constant 0 : f32[Query:64]\n%1 = mma_wait -1 %0",
           "op 'mma_wait': does not say how many groups may stay in flight"},
          {"role @5 {\n}", "op 'role': refers to role 5 of 2"},
      });
}

TEST_CASE("scopes and definitions") {
  Kernel k = parse(test::traced(
      "%0 = length Key : i32\n%1 = neg %0 : i32\nover Key {\n^(%t: tile Key)\n%2 = abs %0 : i32\nyield\n}"));
  auto changed = [&](auto f) {
    Kernel copy = k;
    f(copy);
    return std::regex_replace(verify(copy), std::regex(" at <text>:[0-9]+"), "");
  };
  CHECK(changed([](Kernel&) {}) == "");
  CHECK(changed([](Kernel& c) { std::swap(c.entry.ops[0], c.entry.ops[1]); }) ==
        "op 'neg': operand 0 is used before it is defined");
  CHECK(changed([](Kernel& c) { c.entry.ops[1].operands[0] = Value{}; }) == "op 'neg': operand 0 is no value");
  CHECK(changed([](Kernel& c) { c.entry.ops[1].results = c.entry.ops[0].results; }) ==
        "op 'neg': defines value 0 again");
  CHECK(changed([](Kernel& c) { c.entry.ops[1].results = {Value{99}}; }) ==
        "op 'neg': defines value 99 of a table of 4");
  CHECK(changed([](Kernel& c) { c.entry.ops[1].results.clear(); }) == "op 'neg': has 0 results, must have 1");
  CHECK(changed([](Kernel& c) { c.entry.ops[2].regions.clear(); }) == "op 'over': has 0 regions, must have 1");
  CHECK(changed([](Kernel& c) {
          Op late{.code = OpCode::neg,
                  .operands = c.entry.ops[2].regions[0].ops[0].results,
                  .results = {c.add_value(Type::scalar(DType::i32))}};
          c.entry.ops.push_back(late);
        }) == "op 'neg': operand 0 is used outside the region that defines it");
  CHECK(changed([](Kernel& c) { c.entry.args.push_back(c.add_value(Type::scalar(DType::i32))); }) ==
        "the entry block has 1 arguments, must have 0");
}

TEST_CASE("parameters and functions") {
  Kernel k = parse(test::traced(""));
  auto changed = [&](auto f) {
    Kernel copy = k;
    f(copy);
    return std::regex_replace(verify(copy), std::regex(" at <text>:[0-9]+"), "");
  };
  CHECK(changed([](Kernel& c) { c.params[0].name.clear(); }) == "a parameter has no name");
  CHECK(changed([](Kernel& c) { c.params[4].rank = 0; }) == "table 'doc' has rank 0");
  CHECK(changed([](Kernel& c) { c.params[3].axes = c.params[0].axes; }) ==
        "parameter 'scale' is no tensor but has axes");
  CHECK(changed([](Kernel& c) { c.params[0].axes[1] = c.params[0].axes[0]; }) == "parameter 'q' has axis Query twice");
  CHECK(changed([](Kernel& c) { c.functions[0].graph.entry.args.pop_back(); }) ==
        "function 'causal': has 5 arguments, must have at least 6");
  CHECK(changed([](Kernel& c) { c.functions[0].graph.values[0].type.dtype = DType::f32; }) ==
        "function 'causal': op 'le': operands have different dtypes: i32 and f32");
  CHECK(changed([](Kernel& c) { c.functions[0].graph.values[4].type.dtype = DType::f32; }) ==
        "function 'causal': argument 4 is f32, must be i32");
  CHECK(changed([](Kernel& c) { c.functions[0].graph.entry.ops.pop_back(); }) ==
        "function 'causal': does not end in a yield");
  CHECK(changed([](Kernel& c) { c.functions[0].graph.entry.ops[0].code = OpCode::load; }) ==
        "function 'causal': op 'load': is no scalar op");
  CHECK(changed([](Kernel& c) { c.functions[0].graph.add_value(Type::tile(DType::f32, {{Axis::named("Key"), 0}})); }) ==
        "function 'causal': has a value of type f32[Key], must be scalar");
}

TEST_CASE("check throws with the pass and the kernel") {
  Kernel k = parse(test::traced("%0 = length Key : i32\n%1 = neg %0 : f32"));
  try {
    check(k, "break_things");
    FAIL("did not throw");
  } catch (const InternalError& e) {
    CHECK(
        std::string(e.what()).starts_with("internal error in tessera (please report it): after pass 'break_things': "
                                          "op 'neg' at <text>:12: gives f32, must give i32\nkernel f traced"));
    CHECK(e.ir() == print(k));
  }
  CHECK_NOTHROW(check(parse(test::traced("")), "nothing"));
}

TEST_CASE("a mask yields one i1, a score function one value of the scores' dtype") {
  auto with = [](const std::string& function, const std::string& op) {
    return complaint(test::traced("function @1 f(q, k, head, batch, query_length, key_length" + function +
                                  "}\n%s = constant 0 : f32[Query, Key]\nover Key {\n^(%t: tile Key)\n" + op +
                                  "\nyield\n}"));
  };
  CHECK(with(") {\nyield %q\n", "%a = allowed @1 %t : i1[Query, Key]") ==
        "op 'allowed': function 'f' does not yield one i1");
  CHECK(with(", x: f32) {\nyield true\n", "%a = allowed @1 %t : i1[Query, Key]") ==
        "op 'allowed': function 'f' takes 1 values, a mask takes none");
  CHECK(with(", x: f16) {\nyield %x\n", "%a = apply @1 %t, %s : f32[Query, Key]") ==
        "op 'apply': gives f32[Query, Key] to function 'f', which takes f16");
  CHECK(with(", x: f32) {\nyield %q\n", "%a = apply @1 %t, %s : f32[Query, Key]") ==
        "op 'apply': function 'f' does not yield one f32");
  CHECK(with(", x: f32) {\nyield %x\n", "%a = apply @1 %t, %s : f32[Query, Key]") == "");
}
