// Programs of the language that are not attention, with data for them: each has a shape that one of the passes could
// get wrong. Run on the CPU as tiled and as placed kernels, and on the GPU.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <tessera/dsl/lang/trace.h>
#include <tessera/library/program.h>

#include "support/tensor.h"

namespace tessera::test {

struct BlockProgram {
  std::string name;
  std::function<Traced()> trace;
  ProgramOptions options;
  struct Tensor {
    DType dtype;
    std::vector<std::int64_t> shape;
  };
  std::vector<Tensor> tensors;  // one a parameter, inputs and outputs
  double tolerance = 1e-5;      // of a value and 1: another order of summation, a rounding that tips over

  // The kernel as it is tiled for the options.
  ir::Kernel tiled() const;
};

const std::vector<BlockProgram>& block_programs();

// Inputs of a program: normal numbers, or small integers, of which sums and products are exact in any order.
enum class Fill { normal, integers };
std::vector<TestTensor> tensors_for(const BlockProgram& program, Fill fill);
std::vector<ir::Argument> arguments_of(const std::vector<TestTensor>& tensors);

}  // namespace tessera::test
