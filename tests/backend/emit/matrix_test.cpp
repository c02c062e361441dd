#include <doctest/doctest.h>

#include "backend/emit/kernels.h"

namespace tessera::test {

TEST_CASE("a product with a producer and two consumers") {
  for (bool transposed : {false, true}) {
    CAPTURE(transposed);
    const backend::Emitted e = emitted(matmul(transposed));
    const std::string& ptx = e.artifact.ptx;
    CHECK(count(ptx, "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16") == 4);
    // B as [Inner, Column] has N contiguous: the last immediate of the instruction
    CHECK(count(ptx, transposed ? "p, 1, 1, 0, 0;" : "p, 1, 1, 0, 1;") == 4);
    CHECK(count(ptx, "cp.async.bulk.tensor.2d") == 2);
    CHECK(count(ptx, "mbarrier.init.shared") == 12);
    CHECK(count(ptx, "prefetch.tensormap") == 2);
    CHECK(count(ptx, "setmaxnreg.dec.sync.aligned.u32 \t24") + count(ptx, "setmaxnreg.dec.sync.aligned.u32 24") == 1);
    CHECK(e.artifact.shared_bytes == 3 * (16384 + 8192) + 12 * 8);
    assembles(e, 168);
  }
}

TEST_CASE("roles that together want more registers than the block starts with are refused") {
  ir::Kernel kernel = matmul(false);
  kernel.roles[1].registers = 248;
  CHECK_THROWS_WITH_AS(emitted(kernel), doctest::Contains("hold 66560 registers, but its 384 threads start with 64512"),
                       InternalError);
}

TEST_CASE("a role that one thread runs may not hold tiles") {
  ir::Kernel kernel = matmul(false);
  std::vector<ir::Op>& producer = kernel.entry.ops[kernel.entry.ops.size() - 2].regions[0].ops;
  REQUIRE(kernel.entry.ops[kernel.entry.ops.size() - 2].index == 0);
  ir::Op product;
  product.code = ir::OpCode::mma;
  producer.insert(producer.begin(), product);
  CHECK_THROWS_WITH_AS(emitted(kernel), doctest::Contains("op 'mma' in a role that one thread runs"), InternalError);
}

TEST_CASE("a table without elements reads as zero, from memory that exists") {
  const std::string ptx = emitted(forward(64, true)).artifact.ptx;
  CHECK(count(ptx, ".global .align 4 .u32 zero") + count(ptx, ".global .align 4 .b32 zero") +
            count(ptx, ".const .align 4 .u32 zero") >=
        1);
}

TEST_CASE("the forward of attention assembles without spills or serialised products") {
  for (int d : {64, 128}) {
    for (bool bounded : {false, true}) {
      CAPTURE(d);
      CAPTURE(bounded);
      const backend::Emitted e = emitted(forward(d, bounded));
      const std::string& ptx = e.artifact.ptx;
      CHECK(count(ptx, "wgmma.mma_async") == 2 * (d / 16 + 8));  // two loops: QK over d, PV over 128 keys
      CHECK(count(ptx, "cvt.rn.bf16x2.f32") == 2 * 32 + d / 4);  // P once a pair in each loop, O once a pair
      CHECK(count(ptx, "ex2.approx.ftz.f32") == 2 * (64 + 2));
      CHECK(count(ptx, "selp.f32") >= 64);                                               // the bounded loop only
      const int copies = d / 64;                                                         // boxes a tile
      CHECK(count(ptx, "cp.async.bulk.tensor.4d") == copies * (1 + (bounded ? 4 : 2)));  // bounded: whole or row by row
      CHECK(count(ptx, "prefetch.tensormap") == (bounded ? 5 : 3));
      CHECK(count(ptx, ".local") == 0);
      CHECK(e.artifact.shared_bytes == 5 * 128 * d * 2 + 9 * 8);
      CHECK(e.llvm_ms < 2000);
      assembles(e, 168);
    }
  }
}

TEST_CASE("what a warpgroup cannot multiply is refused by name") {
  std::string text = R"(kernel bad placed grid(Row:64) threads 128 {
  param a: in bf16[Row, Inner]
  role @0 consumer x1 registers 0
  layout #0 {reg 2*Column:1 2*Row:8 8*Column:8 | lane 4*Column:2 8*Row:1 | warp 4*Row:16}
  layout #1 {reg 2*Row:8 2*Column:1 8*Column:8 | lane 4*Column:2 8*Row:1 | warp 4*Row:16}
  %as = alloc : shared<bf16[Row:64, Inner:64] x1>
  %bs = alloc : shared<bf16[Inner:64, Column:64] x1>
  role @0 {
    %c0 = constant 0 : i32
    %0 = slot %as, %c0 : view<bf16[Row:64, Inner:64]>
    %1 = slot %bs, %c0 : view<bf16[Inner:64, Column:64]>
    mma_fence
    %2 = mma Inner %0, %1 : f32[Row:64, Column:64] #1
    mma_commit
    %3 = mma_wait 0 %2
  }
})";
  CHECK_THROWS_WITH_AS(emitted(placed(text)), doctest::Contains("the result's layout is not the accumulator's"),
                       InternalError);
}

}  // namespace tessera::test
