// The library's forward attention as it is traced, and what the traced program computes.
#include <cmath>

#include <doctest/doctest.h>

#include <tessera/dsl/ir/interpret.h>
#include <tessera/dsl/ir/print.h>
#include <tessera/library/forward.h>

#include "support/golden.h"
#include "support/reference.h"

using namespace tessera;
using test::Pair;
using test::Problem;
using test::TestTensor;

namespace {

const Mask causal = Mask([](Position q, Position k) { return k <= q; }).named("causal");
const Score cap = Score([](ScoreValue s, Position, Position) { return 2.0 * tanh(s / 2.0); }).named("soft_cap");
const Score slope = Score([](ScoreValue s, Position q, Position k, At at) {
                      return s - 0.125 * cast<f32>(abs(q - k)) * cast<f32>(at.head + 1);
                    }).named("slope");

Problem only(std::function<bool(const Pair&)> allowed, std::function<double(const Pair&, double)> score = {}) {
  Problem problem;
  problem.allowed = std::move(allowed);
  if (score) problem.score = std::move(score);
  return problem;
}

// The traced kernel on the interpreter against attention in fp64.
void computes(const Mask& mask, const Scores& scores, Problem problem, std::int64_t queries, std::int64_t keys) {
  TestTensor q(f16, {2, 3, queries, 16}), k(f16, {2, 3, keys, 16}), v(f16, {2, 3, keys, 24});
  TestTensor o(f16, {2, 3, queries, 24}), lse(f32, {2, 3, queries});
  q.fill_normal(1);
  k.fill_normal(2);
  v.fill_normal(3);
  o.poison();
  lse.poison();
  problem.q = &q;
  problem.k = &k;
  problem.v = &v;
  problem.scale = 0.25;
  std::vector<std::int32_t> lengths(problem.key_lengths.begin(), problem.key_lengths.end());

  const bool bounded = !lengths.empty();
  const Traced traced = forward.trace<f16>(mask, scores, ForwardOptions{.lse = true, .key_lengths = bounded});
  ForwardArgs<bound, f16> call{
      .q = q.view(), .k = k.view(), .v = v.view(), .o = o.view(), .lse = lse.view(), .scale = 0.25, .key_lengths = {}};
  if (bounded) call.key_lengths = View::contiguous(lengths.data(), i32, {2});
  ir::interpret(traced.kernel, ir::bind(traced.kernel, arguments(call, traced.kernel)));

  const test::Result exact = test::attention_fp64(problem);
  const test::Tolerance tolerance = test::tolerance(problem, exact);
  CHECK(test::max_difference(o.values(), exact.o) <= tolerance.o);
  CHECK(test::max_difference(lse.values(), exact.lse) <= tolerance.lse);
  CHECK(o.guards_intact());
}

}  // namespace

TEST_CASE("forward attention as it is traced") {
  test::check_golden("forward_traced", ir::print(forward.trace<bf16>(causal, Scores{}, ForwardOptions{}).kernel));
}

TEST_CASE("forward attention with everything it has") {
  const ForwardOptions all{.lse = true, .key_lengths = true};
  const Traced traced = forward.trace<f16>(causal, Scores{cap, slope}, all);
  test::check_golden("forward_traced_all", ir::print(traced.kernel));
  REQUIRE(traced.functions.size() == 3);
  for (std::size_t i = 0; i < traced.functions.size(); ++i) {
    CHECK(traced.functions[i].function.name == traced.kernel.functions[i].name);
  }
}

TEST_CASE("a kernel has the optional parameters that it uses") {
  auto names = [](const ForwardOptions& options) {
    std::string text;
    for (const ir::Param& p : forward.trace<f16>(causal, Scores{}, options).kernel.params) text += p.name + " ";
    return text;
  };
  CHECK(names({}) == "q k v o scale ");
  CHECK(names({.lse = true}) == "q k v o lse scale ");
  CHECK(names({.key_lengths = true}) == "q k v o scale key_lengths ");
}

TEST_CASE("the same program is traced the same") {
  auto once = [] { return ir::print(forward.trace<bf16>(causal, Scores{cap}, ForwardOptions{.lse = true}).kernel); };
  CHECK(once() == once());
}

TEST_CASE("ops keep the line of the statement that made them") {
  const Traced traced = forward.trace<bf16>(causal, Scores{}, ForwardOptions{});
  const ir::Op* dot = nullptr;
  for (const ir::Op& op : traced.kernel.entry.ops) {
    if (op.code != ir::OpCode::over) continue;
    for (const ir::Op& inner : op.regions[0].ops) {
      if (inner.code == ir::OpCode::dot && !dot) dot = &inner;
      CHECK(std::string(inner.loc.file).find("forward.h") != std::string::npos);
    }
  }
  REQUIRE(dot);
  CHECK(dot->loc.line > 0);
}

TEST_CASE("the traced program computes attention") {
  computes(Mask(), {}, {}, 70, 65);
  computes(causal, {}, only([](const Pair& p) { return p.k <= p.q; }), 65, 70);
}

TEST_CASE("rows without a key are empty") {
  const Mask late = [](Position q, Position k) { return q >= 5 && k < q - 4; };
  computes(late, {}, only([](const Pair& p) { return p.q >= 5 && p.k < p.q - 4; }), 9, 12);
}

TEST_CASE("scores are applied left to right, between scale and mask") {
  auto capped = [](double s) { return 2 * std::tanh(s / 2); };
  auto sloped = [](const Pair& p, double s) {
    return s - 0.125 * std::abs(static_cast<double>(p.q - p.k)) * (p.head + 1);
  };
  auto live = [](const Pair& p) { return p.k <= p.q; };
  computes(causal, {cap, slope}, only(live, [=](const Pair& p, double s) { return sloped(p, capped(s)); }), 33, 40);
  computes(causal, {slope, cap}, only(live, [=](const Pair& p, double s) { return capped(sloped(p, s)); }), 33, 40);
}

TEST_CASE("keys past a batch's length do not exist") {
  Problem all = {}, live = only([](const Pair& p) { return p.k <= p.q; });
  all.key_lengths = {3, 40};
  live.key_lengths = {0, 17};
  computes(Mask(), {}, all, 20, 40);
  computes(causal, {}, live, 20, 40);
}
