// Each pass on the smallest kernel that shows it: what it leaves is what its header says.
#include <doctest/doctest.h>

#include <algorithm>

#include <tessera/backend/layouts.h>
#include <tessera/backend/passes/assign_layouts.h>
#include <tessera/backend/passes/fit_memory.h>
#include <tessera/backend/passes/hoist_loads.h>
#include <tessera/backend/passes/pipeline_loads.h>
#include <tessera/backend/passes/place_barriers.h>
#include <tessera/backend/passes/place_memory.h>
#include <tessera/backend/passes/share_rings.h>
#include <tessera/backend/passes/slice.h>
#include <tessera/backend/passes/split_roles.h>
#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/rewrite.h>
#include <tessera/dsl/ir/verify.h>

#include "backend/placed_runs.h"
#include "backend/tiled_kernels.h"

using namespace tessera;
using namespace tessera::ir;
using namespace tessera::backend;

namespace {

// Names of the ops in program order, regions in braces: the shape of a kernel.
std::string shape(const Block& block, const std::vector<OpCode>& shown) {
  std::string text;
  for (const Op& op : block.ops) {
    std::string inner;
    for (const Block& region : op.regions) inner += shape(region, shown);
    const bool show = std::find(shown.begin(), shown.end(), op.code) != shown.end();
    if (!show && inner.empty()) continue;
    text += (text.empty() ? "" : " ") + std::string(info(op.code).name);
    if (op.code == OpCode::wait && op.index == 1) text += "_empty";
    if (!op.regions.empty()) text += " { " + inner + " }";
  }
  return text;
}

const std::vector<OpCode> kMemory{OpCode::load,   OpCode::alloc,    OpCode::expect,    OpCode::copy,     OpCode::wait,
                                  OpCode::arrive, OpCode::mma,      OpCode::mma_fence, OpCode::mma_wait, OpCode::dot,
                                  OpCode::store,  OpCode::group_id, OpCode::mma_commit};

Kernel checked(Kernel kernel) {
  REQUIRE(verify(kernel) == "");
  return kernel;
}

struct Stages {
  Kernel tiled, laid_out, placed, deep, split, done;
  explicit Stages(const Kernel& kernel, const Schedule& wanted = {}) : tiled(kernel) {
    const Schedule schedule = resolve(wanted, tiled, test::hopper());
    const LayoutRule rule(tiled);
    laid_out = checked(hoist_loads(assign_layouts(tiled, rule)));
    placed = checked(place_memory(laid_out));
    deep = checked(pipeline_loads(placed, schedule));
    split = checked(split_roles(deep, rule, schedule, test::hopper()));
    done = checked(place_barriers(split));
  }
};

int stages_of(const Kernel& kernel, const std::string& name) {
  for (const Op& op : kernel.entry.ops)
    if (op.code == OpCode::alloc && kernel.name_of(op.results[0]) == name) return kernel.type(op.results[0]).stages;
  return -1;
}

}  // namespace

TEST_CASE("assign_layouts: tiles in registers get layouts, loads for products do not; dots have their row axis left") {
  const Stages s(test::tiled_matmul());
  walk(s.laid_out.entry, [&](const Op& op) {
    if (op.code == OpCode::load) CHECK(is_shared_load(op, s.laid_out));
    if (op.code != OpCode::dot) return;
    CHECK(s.laid_out.type(op.operands[0]).has(Axis::named("Row")));
    CHECK(s.laid_out.type(op.results[0]).layout != nullptr);
  });
}

TEST_CASE("place_memory: every copy is waited for at once, products are asynchronous instructions") {
  const Stages s(test::tiled_matmul());
  CHECK(shape(s.placed.entry, kMemory) ==
        "alloc alloc alloc alloc loop { expect copy wait expect copy wait mma_fence mma mma_commit mma_wait } store");
}

TEST_CASE("pipeline_loads: rings that a loop fills get the schedule's stages") {
  const Stages s(test::tiled_attention(), {.stages = 3});
  CHECK(stages_of(s.placed, "k_ring") == 1);
  for (const char* name : {"k_ring", "v_ring", "k_full", "v_full"}) CHECK(stages_of(s.deep, name) == 3);
  for (const char* name : {"q_ring", "q_full"}) CHECK(stages_of(s.deep, name) == 1);
}

TEST_CASE("split_roles: the copies go to the producer, the rest to the consumers") {
  const Stages s(test::tiled_matmul());
  CHECK(shape(s.split.entry, kMemory) ==
        "alloc alloc alloc alloc role { loop { expect copy expect copy } } "
        "role { group_id loop { wait wait mma_fence mma mma_commit mma_wait } store }");
  // Constants that both need are defined once.
  int constants = 0;
  for (const Op& op : s.split.entry.ops) constants += op.code == OpCode::constant;
  CHECK(constants > 0);
  const std::string text = print(s.split);
  CHECK(text.find("constant 0 : i32", text.find("role @0 {")) == std::string::npos);
}

TEST_CASE("place_barriers: slots are refilled when released, waited for late and released early") {
  const Stages s(test::tiled_matmul());
  CHECK(shape(s.done.entry, kMemory) ==
        "alloc alloc alloc alloc alloc alloc role { loop { wait_empty expect copy wait_empty expect copy } } "
        "role { group_id loop { wait wait mma_fence mma mma_commit mma_wait arrive arrive } store }");
}

TEST_CASE("place_barriers: a wait whose tile nobody reads stays where it is, and releases at once") {
  Kernel kernel = Stages(test::tiled_matmul()).split;
  // Takes the product out; what it read is then waited for by nobody in particular.
  Block& loop = [&]() -> Block& {
    for (Op& op : kernel.entry.ops.back().regions[0].ops)
      if (op.code == OpCode::loop) return op.regions[0];
    throw InternalError("no loop");
  }();
  std::vector<Op> kept;
  for (Op& op : loop.ops) {
    if (op.code == OpCode::yield) op.operands[0] = loop.args[1];
    if (op.code != OpCode::mma && op.code != OpCode::mma_wait) kept.push_back(std::move(op));
  }
  loop.ops = std::move(kept);
  CHECK(shape(checked(place_barriers(kernel)).entry.ops.back().regions[0], {OpCode::wait, OpCode::arrive}) ==
        "loop { wait arrive wait arrive }");
}

TEST_CASE("fit_memory: rings lose stages until the block fits") {
  const Stages s(test::tiled_attention({128, 128, 256, 256}), {.stages = 3});
  CHECK(stages_of(s.done, "k_ring") == 3);
  const Kernel fits = fit_memory(s.done, test::hopper());
  CHECK(stages_of(fits, "k_ring") == 1);
  CHECK(stages_of(fits, "k_empty") == 1);
  const Kernel roomy = fit_memory(Stages(test::tiled_attention(), {.stages = 3}).done, test::hopper());
  CHECK(stages_of(roomy, "k_ring") == 3);
}

TEST_CASE("hoist_loads: a load leaves a branch that only tiles decide, and stays in one that scalars decide") {
  for (bool tiles : {true, false}) {
    CAPTURE(tiles);
    const Stages s(test::tiled_branch(tiles));
    CHECK(shape(s.laid_out.entry, {OpCode::load, OpCode::dot}) ==
          (tiles ? "load loop { load load when { dot } }" : "load loop { load when { load dot } }"));
  }
}

TEST_CASE("share_rings: loops one after the other share a ring, tiles that meet do not") {
  CHECK(stages_of(Stages(test::tiled_attention()).placed, "k_ring") == 1);
  int rings = 0;
  for (const Op& op : Stages(test::tiled_attention()).placed.entry.ops) rings += op.code == OpCode::alloc;
  CHECK(rings == 6);  // q, k, v and their barriers, for two loops
  rings = 0;
  for (const Op& op : Stages(test::tiled_pairs()).placed.entry.ops) rings += op.code == OpCode::alloc;
  CHECK(rings == 6);  // q, and k twice
}

TEST_CASE("slice: loops keep the carried values that matter") {
  const Stages s(test::tiled_attention());
  const Kernel producer = slice(s.deep, [](const Op& op) { return op.code == OpCode::copy; });
  REQUIRE(verify(producer) == "");
  walk(producer.entry, [&](const Op& op) {
    for (Value v : op.results) CHECK((producer.type(v).is_scalar() || producer.type(v).kind != TypeKind::tile));
    if (op.code == OpCode::loop) CHECK(op.results.size() == 1);  // the ticket of k and v
  });
}

TEST_CASE("registers: what roles hold together never exceeds what the block starts with") {
  for (int computing : {1, 2, 3, 4}) {
    const RegisterBudget budget = register_budget(test::hopper(), computing);
    const int threads = 128 * (1 + computing);
    CHECK(128 * (budget.copying + computing * budget.computing) <= threads * entry_registers(test::hopper(), threads));
    CHECK(budget.copying >= 24);
    CHECK(budget.computing % 8 == 0);
  }
  CHECK(register_budget(test::hopper(), 2).computing == 240);
  CHECK(register_budget(test::hopper(), 3).computing == 160);
  CHECK(register_budget(test::hopper(), 2, 32).computing == 232);
  CHECK(register_budget(test::hopper(), 3, 40).computing == 152);
  CHECK(register_budget(test::hopper(), 4).computing == 112);  // not the 120 that 65536 registers suggest
}
