// The interpreter notices when a pass forgets something: each of these takes one kind of op out of a placed kernel.
#include <doctest/doctest.h>

#include <functional>

#include <tessera/backend/compile.h>
#include <tessera/dsl/ir/interpret.h>
#include <tessera/dsl/ir/rewrite.h>

#include "backend/placed_runs.h"
#include "backend/tiled_kernels.h"
#include "support/tensor.h"

using namespace tessera;
using namespace tessera::ir;

namespace {

using Doomed = std::function<bool(const Kernel&, const Op&)>;

Block without(const Kernel& kernel, const Block& block, const Doomed& doomed, int& removed) {
  Block out;
  out.args = block.args;
  for (const Op& op : block.ops) {
    if (doomed(kernel, op)) {
      ++removed;
      continue;
    }
    out.ops.push_back(op);
    for (Block& region : out.ops.back().regions) region = without(kernel, region, doomed, removed);
  }
  return out;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

void run(const Kernel& kernel) {
  test::TestTensor q(DType::bf16, {1, 1, 130, 64}), k(DType::bf16, {1, 1, 400, 64}), v(DType::bf16, {1, 1, 400, 64}),
      o(DType::bf16, {1, 1, 130, 64}), lse(DType::f32, {1, 1, 130});
  for (test::TestTensor* t : {&q, &k, &v}) t->fill_normal(1);
  interpret(kernel, bind(kernel, {q.view(), k.view(), v.view(), o.view(), lse.view()}), {.threads = 1});
}

void check_noticed(const Doomed& doomed, const char* complaint) {
  const Kernel placed = backend::place(test::tiled_attention(), test::hopper(), {});
  run(placed);
  int removed = 0;
  Kernel mutant = placed;
  mutant.entry = without(placed, placed.entry, doomed, removed);
  REQUIRE(removed > 0);
  CHECK_THROWS_WITH_AS(run(mutant), doctest::Contains(complaint), InternalError);
}

bool on(const Kernel& kernel, const Op& op, const char* barrier) {
  return ends_with(kernel.name_of(op.operands[0]), barrier);
}

}  // namespace

TEST_CASE("a producer that does not wait for empty slots overwrites what is being read") {
  check_noticed([](const Kernel&, const Op& op) { return op.code == OpCode::wait && op.index == 1; },
                "fills slot 0 of");
}

TEST_CASE("consumers that do not release slots starve the producer") {
  check_noticed([](const Kernel&, const Op& op) { return op.code == OpCode::arrive; }, "deadlock");
}

TEST_CASE("consumers that do not wait for a copy read what is not there") {
  for (const char* barrier : {"q_full", "k_full", "v_full"})
    check_noticed([&](const Kernel& kernel,
                      const Op& op) { return op.code == OpCode::wait && op.index == 0 && on(kernel, op, barrier); },
                  "reads ticket");
}

TEST_CASE("a phase that nobody announces never completes") {
  check_noticed(
      [](const Kernel& kernel, const Op& op) { return op.code == OpCode::expect && on(kernel, op, "v_full"); }, "");
}

TEST_CASE("a product reads registers that no fence has published") {
  check_noticed([](const Kernel&, const Op& op) { return op.code == OpCode::mma_fence; }, "before any mma_fence");
}
