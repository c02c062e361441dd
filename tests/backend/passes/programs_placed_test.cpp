// Programs that are not attention: placed and tiled kernels compute the same, at any depth of the rings, and assemble
// without spills.
#include <doctest/doctest.h>

#include <tessera/backend/compile.h>

#include "backend/block_programs.h"
#include "backend/placed_runs.h"
#include "backend/tiled_kernels.h"

namespace tessera::test {

TEST_CASE("block programs compute the same placed as tiled") {
  for (const BlockProgram& program : block_programs()) {
    CAPTURE(program.name);
    const ir::Kernel tiled = program.tiled();
    const std::vector<TestTensor> tensors = tensors_for(program, Fill::normal);
    for (int stages : {1, 2, 5}) {
      CAPTURE(stages);
      CHECK(placed_difference(tiled, arguments_of(tensors), {.stages = stages}) <= program.tolerance);
    }
  }
}

TEST_CASE("of small integers they compute the same bits") {
  for (const BlockProgram& program : block_programs()) {
    CAPTURE(program.name);
    const std::vector<TestTensor> tensors = tensors_for(program, Fill::integers);
    CHECK(placed_difference(program.tiled(), arguments_of(tensors)) == 0);
  }
}

TEST_CASE("block programs assemble without spills") {
  for (const BlockProgram& program : block_programs()) {
    CAPTURE(program.name);
    CHECK(assembles_clean(program.tiled()));
  }
}

TEST_CASE("two tiles of one tensor that are needed at once have rings of their own") {
  const ir::Kernel tiled = tiled_pairs();
  TestTensor q(DType::bf16, {2, 100, 64}), k(DType::bf16, {2, 150, 64}), y(DType::f32, {2, 100, 150});
  q.fill_normal(1);
  k.fill_normal(2);
  for (int stages : {1, 2, 3})
    CHECK(placed_difference(tiled, {q.view(), k.view(), y.view()}, {.stages = stages}) <= 1e-5);
}

}  // namespace tessera::test
