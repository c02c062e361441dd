#include <doctest/doctest.h>

#include <tessera/backend/compile.h>
#include <tessera/backend/emit/memory_plan.h>
#include <tessera/backend/passes/stage_stores.h>
#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/rewrite.h>
#include <tessera/dsl/ir/verify.h>

#include "backend/placed_runs.h"
#include "backend/tiled_kernels.h"

using namespace tessera;
using namespace tessera::ir;

namespace {

int count(const Kernel& kernel, OpCode code) {
  int n = 0;
  walk(kernel.entry, [&](const Op& op) { n += op.code == code; });
  return n;
}

// Of the stores of a kernel, those that go out by tensor copies.
int sends(const test::AttentionShape& shape, const backend::Target& target = test::hopper()) {
  return count(backend::place(test::tiled_attention(shape), target, {}), OpCode::send);
}

}  // namespace

TEST_CASE("O goes out through shared memory, row sums as they are") {
  const Kernel kernel = backend::place(test::tiled_attention({128, 64}), test::hopper(), {});
  CHECK(count(kernel, OpCode::send) == 1);
  CHECK(count(kernel, OpCode::store) == 1);
  const std::string text = print(kernel);
  CAPTURE(text);
  CHECK(text.find("%o_out = alloc : shared<bf16[Query:128, Value:64] x1>") != std::string::npos);
}

TEST_CASE("stores stay as they are where the target has no memory left for them") {
  backend::Target target = test::hopper();
  const Kernel kernel = backend::place(test::tiled_attention({128, 64}), target, {});
  target.shared_bytes = backend::plan_memory(kernel).total;
  CHECK(sends({128, 64}, target) == 1);
  --target.shared_bytes;
  CHECK(sends({128, 64}, target) == 0);
}

TEST_CASE("tiles that no tensor copy writes are stored from registers") {
  const auto staged = [](const char* tile, const char* whole, const char* layout) {
    const std::string text = std::string(R"(kernel k placed grid(Query:64, Value:32) threads 256 {
  param x: in bf16[Query, Value]
  param y: out bf16[Query, Value]
)") + whole + R"(  role @0 producer x1
  role @1 consumer x1
  layout #0 )" + layout + R"(
  %ring = alloc : shared<)" + tile +
                             R"( x1>
  %full = alloc : barrier<1 x1>
  role @0 {
    %view = slot %ring, 0 : view<)" +
                             tile + R"(>
    expect 8192 %full, 0
    copy x(%view ; %full, 0 ; 0, 0)
  }
  role @1 {
    wait %full, 0
    %out = constant 1 : )" + tile +
                             R"( #0
    store y(0, 0), %out
  }
}
)";
    const Kernel kernel = parse(text);
    REQUIRE(verify(kernel) == "");
    const Kernel out = backend::stage_stores(kernel, test::hopper());
    CHECK(verify(out) == "");
    return count(out, OpCode::send) == 1;
  };
  const char* product64 = "{reg 2*Value:1 2*Query:8 8*Value:8 | lane 4*Value:2 8*Query:1 | warp 4*Query:16}";
  const char* product32 = "{reg 2*Value:1 2*Query:8 4*Value:8 | lane 4*Value:2 8*Query:1 | warp 4*Query:16}";
  const char* across = "{reg 2*Query:8 2*Value:1 8*Value:8 | lane 4*Value:2 8*Query:1 | warp 4*Query:16}";
  CHECK(staged("bf16[Query:64, Value:64]", "", product64));
  CHECK_FALSE(staged("bf16[Query:64, Value:64]", "", across));
  CHECK_FALSE(staged("bf16[Query:64, Value:32]", "", product32));  // the other 32 columns are another program's
  CHECK(staged("bf16[Query:64, Value:32]", "  whole Value:32\n", product32));
}
