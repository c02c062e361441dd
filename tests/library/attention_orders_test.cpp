// Attention in token orders on the CPU: plans put into an Attention in place of the planner's, in every memory layout.
#include <cmath>

#include <doctest/doctest.h>

#include <tessera/library/plan_maker.h>
#include <tessera/library/program.h>

#include "library/attention_case.h"
#include "library/order_cases.h"

using namespace tessera;
using namespace tessera::test;

namespace {

std::size_t chain_of_rows_and_columns() {
  std::size_t i = 0;
  while (order_cases().at(i).name != "a chain: rows of a grid, then columns") ++i;
  return i;
}

}  // namespace

TEST_CASE("every order, in every memory layout") {
  std::size_t turn = 0;
  for (const OrderCase& order : order_cases()) {
    Case c{.batch = 2, .heads = 2, .kv_heads = 1, .depth = 16};
    if (turn % 3 == 1) c.layout.order = {0, 2, 1, 3};
    if (turn++ % 3 == 2) c.layout.row_padding = 8;
    order.apply(c);
    if (c.queries > 1100) continue;
    check_case(c, order.name);
    check_counts(c, order.name);
  }
}

TEST_CASE("a plan is made for each set of shapes, and what is explained is that plan") {
  Case c{.batch = 1, .heads = 1, .kv_heads = 1, .depth = 16};
  order_cases()[6].apply(c);  // residues mod 4, of any length
  int made = 0;
  const auto maker = c.plan_maker;
  c.plan_maker = std::make_shared<const library::PlanMaker>(
      library::PlanMaker{[&made, maker](const mask::Pointwise& predicate, const mask::PlanRequest& request) {
        ++made;
        return maker->make(predicate, request);
      }});
  Attention attend(options_of(c));
  for (std::int64_t length : {300, 301, 300}) {
    c.queries = c.keys = length;
    Tensors t(c);
    attend(t.call(c));
    const Result exact = attention_fp64(t.problem(c));
    CHECK(max_difference(t.o.values(), exact.o) <= tolerance(t.problem(c), exact).o);
  }
  CHECK(made == 2);
  CHECK(attend.explain().find("queries [4:128, 1:1]") != std::string::npos);
  CHECK(attend.explain().find("keys [4:64, 1:1], spans") != std::string::npos);
  CHECK(attend.ir(ir::Stage::tiled).find("order @0 Query:128 [4:128, 1:1]") != std::string::npos);
}

TEST_CASE("a chain gives the same O where no LSE is asked for, and writes no LSE") {
  for (const OrderCase& order : order_cases()) {
    if (order.name.find("a chain") != 0) continue;
    CAPTURE(order.name);
    Case c{.batch = 2, .heads = 2, .kv_heads = 1, .depth = 16};
    order.apply(c);
    Attention attend(options_of(c));
    Tensors with(c), without(c);
    attend(with.call(c));
    AttentionCall call = without.call(c);
    call.lse = {};
    attend(call);
    CHECK(with.o.values() == without.o.values());
    CHECK(std::isnan(without.lse.at({0, 0, 0})));
  }
}

TEST_CASE("what is explained of a chain is each of its passes, and its texts are those of both kernels") {
  Case c{.heads = 2, .kv_heads = 1, .depth = 64};
  order_cases().at(chain_of_rows_and_columns()).apply(c);
  Attention attend(options_of(c));
  attend.prepare({.heads = 2, .kv_heads = 1, .query_length = 500, .key_length = 500});
  const std::string text = attend.explain();
  CHECK(text.find("pass 0     queries [1:64]\n  source   keys [1:80], list") != std::string::npos);
  CHECK(text.find("pass 1     queries [23:64, 1:1]\n  source   keys [23:48, 1:1], list") != std::string::npos);
  const auto count = [](const std::string& in, const std::string& what) {
    int found = 0;
    for (auto at = in.find(what); at != std::string::npos; at = in.find(what, at + 1)) ++found;
    return found;
  };
  CHECK(count(text, "kernel     sm_90a") == 2);
  CHECK(count(attend.explain_json(), "\"spill_bytes\": ") == 3);
  CHECK(count(attend.ir(ir::Stage::tiled), "kernel forward tiled") == 1);
  CHECK(count(attend.ir(ir::Stage::tiled), "kernel forward_after tiled") == 1);
  CHECK(count(attend.ir(ir::Stage::placed), "load earlier_o(") == 1);
  CHECK(count(attend.ptx(), ".visible .entry") == 2);
  CHECK(count(attend.llvm_ir(), "target triple") == 2);
  CHECK(attend.compiles() == 2);
}

TEST_CASE("two orders are two kernels") {
  Case a{.depth = 64}, b{.depth = 64};
  order_cases()[0].apply(a), order_cases()[4].apply(b);
  Attention first(options_of(a)), second(options_of(b));
  Tensors ta(a), tb(b);
  first(ta.call(a)), second(tb.call(b));
  CHECK(first.ptx() != second.ptx());
}
