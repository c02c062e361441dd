// Warpgroups whose rows are not there wait and arrive, and compute nothing; the others compute what they did.
#include <tessera/backend/passes/skip_idle_rows.h>

#include <doctest/doctest.h>

#include <map>

#include <tessera/backend/compile.h>
#include <tessera/backend/layouts.h>
#include <tessera/dsl/ir/interpret.h>
#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/rewrite.h>
#include <tessera/dsl/ir/verify.h>

#include "backend/placed_runs.h"
#include "backend/tiled_kernels.h"
#include "support/sanitized.h"
#include "support/tensor.h"

using namespace tessera;
using namespace tessera::ir;

namespace {

constexpr test::AttentionShape kThreeGroups{.query_tile = 192, .partial_tiles = 3};

// How often each op stands in a block and in the regions of its ops.
std::map<OpCode, int> counts(const Block& block) {
  std::map<OpCode, int> n;
  walk(block, [&](const Op& op) { ++n[op.code]; });
  return n;
}

const Op& consumer_of(const Kernel& kernel) {
  for (const Op& op : kernel.entry.ops)
    if (op.code == OpCode::role && kernel.roles[static_cast<std::size_t>(op.index)].name == "consumer") return op;
  FAIL("no consumer");
  return kernel.entry.ops.front();
}

// The two ways through a program: without rows, and with them. None if there is only one.
std::vector<const Block*> ways(const Kernel& kernel) {
  const Block* program = &consumer_of(kernel).regions[0];
  for (const Op& op : program->ops)
    if (op.code == OpCode::programs) program = &op.regions[0];
  std::vector<const Block*> found;
  for (const Op& op : program->ops) {
    if (op.code == OpCode::when)
      found.push_back(&op.regions[0]);
    else if (op.code == OpCode::mma || op.code == OpCode::loop)
      return {};
  }
  return found;
}

Kernel placed(int query_tile, bool persistent) {
  return backend::place(test::tiled_attention({.query_tile = query_tile, .partial_tiles = 3}), test::hopper(),
                        {.persistent = persistent});
}

}  // namespace

TEST_CASE("without rows a warpgroup waits and arrives as with them, and does nothing else") {
  for (bool persistent : {false, true}) {
    CAPTURE(persistent);
    const Kernel kernel = placed(192, persistent);
    REQUIRE(verify(kernel) == "");
    const std::vector<const Block*> both = ways(kernel);
    REQUIRE(both.size() == 2);
    std::map<OpCode, int> idle = counts(*both[0]), live = counts(*both[1]);
    for (OpCode code : {OpCode::wait, OpCode::arrive, OpCode::turn_wait, OpCode::turn_pass, OpCode::loop}) {
      CAPTURE(info(code).name);
      CHECK(idle[code] == live[code]);
    }
    CHECK(live[OpCode::wait] > 0);
    CHECK(live[OpCode::mma] > 0);
    for (OpCode code : {OpCode::mma, OpCode::mma_fence, OpCode::mma_commit, OpCode::mma_wait, OpCode::exp2,
                        OpCode::write, OpCode::send, OpCode::store, OpCode::load}) {
      CAPTURE(info(code).name);
      CHECK(idle[code] == 0);
    }
  }
}

TEST_CASE("tiles of two warpgroups, and kernels without products, have one way") {
  CHECK(ways(placed(128, true)).empty());
  const Kernel rows = test::tiled_rows();
  CHECK(print(backend::skip_idle_rows(rows, backend::LayoutRule(rows))) == print(rows));
}

TEST_CASE("what is computed does not depend on how many rows the last tile lacks") {
  for (std::int64_t rows : {1, 63, 64, 65, 127, 128, 129, 192, 193, 256, 257, 400})
    for (std::int64_t keys : {0, 64, 320})
      for (bool persistent : {false, true}) {
        if (test::kSanitized && (keys != 320 || rows % 64 == 0)) continue;
        CAPTURE(rows);
        CAPTURE(keys);
        CAPTURE(persistent);
        test::TestTensor q(DType::bf16, {1, 2, rows, 64}), k(DType::bf16, {1, 1, keys, 64}),
            v(DType::bf16, {1, 1, keys, 64}), o(DType::bf16, {1, 2, rows, 64}), lse(DType::f32, {1, 2, rows});
        for (test::TestTensor* t : {&q, &k, &v}) t->fill_normal(7);
        const std::vector<Argument> arguments{q.view(), k.view(), v.view(), o.view(), lse.view()};
        // Interpreting the placed kernel finds races, and warpgroups that wait forever for one that never arrives.
        CHECK(test::outputs_of(placed(192, persistent), arguments) ==
              test::outputs_of(placed(64, persistent), arguments));
      }
}

TEST_CASE("two ways through a program spill nothing") {
  for (int head_dim : {64, 128})
    CHECK(test::assembles_clean(test::tiled_attention(
        {.query_tile = 192, .key_tile = head_dim == 64 ? 128 : 80, .head_dim = head_dim, .value_dim = head_dim})));
}
