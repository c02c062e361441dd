// Attention in token orders on the CPU: plans put into an Attention in place of the planner's, in every memory layout.
#include <doctest/doctest.h>

#include <tessera/library/plan_maker.h>
#include <tessera/library/program.h>

#include "library/attention_case.h"
#include "library/order_cases.h"

using namespace tessera;
using namespace tessera::test;

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

TEST_CASE("two orders are two kernels") {
  Case a{.depth = 64}, b{.depth = 64};
  order_cases()[0].apply(a), order_cases()[4].apply(b);
  Attention first(options_of(a)), second(options_of(b));
  Tensors ta(a), tb(b);
  first(ta.call(a)), second(tb.call(b));
  CHECK(first.ptx() != second.ptx());
}
