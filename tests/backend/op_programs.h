// One kernel for each elementwise op and dtype of the op table, over all pairs of edge values, and how far the GPU may
// be from the interpreter.
#pragma once

#include <string>
#include <vector>

#include <tessera/dsl/lang/trace.h>

#include "support/tensor.h"

namespace tessera::test {

// y[i, j] = op(a[i, j], b[i, j], c[i, j]), with as many operands as the op has. Conditions come in and go out as i32.
struct OpProgram {
  ir::OpCode code;
  DType from, to;
  ir::Kernel traced;
  std::vector<TestTensor> inputs;  // one an operand
  std::string name() const;
};
std::vector<OpProgram> op_programs();

// i32 division and remainder by constants, the divisor the compiler sees: y = a / n or a mod n.
std::vector<OpProgram> division_programs();

constexpr int kEdgeColumns = 32;  // columns of the tensors, a whole axis; rows are tiled by 16

// Whether the GPU may give `y` where the interpreter gives `expected`. Exact for integers, conditions, comparisons and
// what only moves, rounds or adds; the approximating instructions have a few units in the last place. Numbers below the
// smallest normal one may be 0 on the GPU, which flushes them.
bool agrees(const OpProgram& program, double expected, double y);

}  // namespace tessera::test
