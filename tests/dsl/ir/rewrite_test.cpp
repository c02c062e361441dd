#include <tessera/dsl/ir/rewrite.h>

#include <doctest/doctest.h>

#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/verify.h>

#include "dsl/ir/kernel_text.h"

using namespace tessera;
using namespace tessera::ir;

namespace {

const char* const kLoop = R"(
%0 = length Key : i32
%n.1 = loop 0 to %0 (%n = %0) {
  ^(%i)
  %1 = neg %n : i32
  %2 = add %1, %i : i32
  yield %2
}
%3 = neg %n.1 : i32
%4 = load q(%3, 0) : bf16[Query:64, Depth:64]
)";

}  // namespace

TEST_CASE("a rewrite that replaces nothing copies") {
  Kernel from = parse(test::tiled(kLoop));
  Kernel to = like(from);
  CHECK(print(to) == test::tiled(""));
  Rewriter(from, to, {}).run();
  CHECK(print(to) == test::tiled(kLoop));
  CHECK(verify(to) == "");
  CHECK(to.entry.ops[1].loc.line == from.entry.ops[1].loc.line);
}

TEST_CASE("the callback replaces ops wherever they are") {
  Kernel from = parse(test::tiled(kLoop));
  Kernel to = like(from);
  Rewriter(from, to, [](Rewriter& r, const Op& op, Builder& b) {
    if (op.code != OpCode::neg) return false;
    r.map(op.results[0], b.sub(b.constant(0), r[op.operands[0]]));
    return true;
  }).run();
  CHECK(verify(to) == "");
  CHECK(print(to) == test::tiled(R"(
%0 = length Key : i32
%n.1 = loop 0 to %0 (%n = %0) {
  ^(%i)
  %1 = sub 0, %n : i32
  %2 = add %1, %i : i32
  yield %2
}
%3 = sub 0, %n.1 : i32
%4 = load q(%3, 0) : bf16[Query:64, Depth:64]
)"));
}

TEST_CASE("a region can be inlined, and types changed on the way") {
  Kernel from = parse(test::tiled(kLoop));
  Kernel to = like(from);
  Rewriter r(from, to, [](Rewriter& r, const Op& op, Builder& b) {
    if (op.code != OpCode::loop) return false;
    const Block& body = op.regions[0];
    r.map(body.args[0], r[op.operands[0]]);
    r.map(body.args[1], r[op.operands[2]]);
    r.block(body, b);
    r.map(op.results[0], r[body.ops.back().operands[0]]);
    return true;
  });
  r.retype = [](const Type& t) {
    Type out = t;
    for (Dim& d : out.dims) d.extent *= 2;
    return out;
  };
  r.run();
  CHECK(verify(to) == "");
  CHECK(print(to) == test::tiled(R"(
%0 = length Key : i32
%1 = neg %0 : i32
%2 = add %1, 0 : i32
%3 = neg %2 : i32
%4 = load q(%3, 0) : bf16[Query:128, Depth:128]
)"));
}

TEST_CASE("values that were never mapped are noticed") {
  Kernel from = parse(test::tiled(kLoop));
  Kernel to = like(from);
  Rewriter r(from, to, [](Rewriter&, const Op& op, Builder&) { return op.code == OpCode::length; });
  CHECK_THROWS_WITH_AS(r.run(),
                       "internal error in tessera (please report it): a rewrite uses value 0 '' before it was mapped",
                       InternalError);
}

TEST_CASE("walk visits outer before inner, in order") {
  Kernel k = parse(test::tiled(kLoop));
  std::string seen;
  walk(k.entry, [&](const Op& op) { seen += std::string(info(op.code).name) + " "; });
  CHECK(seen == "length constant loop neg add yield neg load ");
  std::vector<const Op*> producers = definitions(k);
  CHECK(producers[k.entry.ops[2].results[0].id] == &k.entry.ops[2]);
  CHECK(producers[k.entry.ops[2].regions[0].args[0].id] == nullptr);
}

TEST_CASE("scalar functions are inlined over tiles") {
  Function window = parse_function(R"(function window(q, k, head, batch, query_length, key_length) {
  param left: scalar i32
  param doc: table i32 rank 1
  %0 = sub %q, %k : i32
  %1 = scalar left : i32
  %2 = le %0, %1 : i1
  %3 = gather doc(%k) : i32
  %4 = eq %3, %head : i1
  %5 = logical_and %2, %4 : i1
  yield %5
}
)");
  Kernel k = parse(test::tiled("%0 = iota Query : i32[Query:64]\n%1 = iota Key : i32[Key:32]"));
  Builder b(k, k.entry);
  Value two = b.constant(2);
  std::vector<Value> args = {Value{0}, Value{1}, two, two, two, two};
  k.params.push_back({"left", ParamKind::scalar, DType::i32, {}, 0});
  k.params.push_back({"doc", ParamKind::table, DType::i32, {}, 1});
  Value allowed = inline_function(window, args, static_cast<int>(k.params.size()) - 2, b);
  CHECK(to_string(k.type(allowed)) == "i1[Query:64, Key:32]");
  CHECK(verify(k) == "");
  std::string text = print(k);
  CHECK(text.find(R"(  %2 = sub %0, %1 : i32[Query:64, Key:32]
  %3 = scalar left : i32
  %4 = le %2, %3 : i1[Query:64, Key:32]
  %5 = gather doc.1(%1) : i32[Key:32]
  %6 = eq %5, 2 : i1[Key:32]
  %7 = logical_and %4, %6 : i1[Query:64, Key:32]
)") != std::string::npos);
  args.pop_back();
  CHECK_THROWS_AS(inline_function(window, args, 0, b), InternalError);
}
