// Runs a kernel of any stage over host arrays. What it computes is what the kernel means.
//
// Tiles are whole arrays here: layouts do not matter to it. Program instances run on several threads; the result does
// not depend on how many. On `placed` kernels every warpgroup of every role is a coroutine over the same shared memory:
// - a wait blocks its coroutine until the phase is complete; when all are blocked, that is a deadlock;
// - a copy is in flight until its barrier's phase completes; a reader must itself have waited for that phase;
// - a slot may be refilled only when every reader of the previous use has arrived on the barrier the copier waited for;
// - a product reads its operands until an mma_wait covers its group; its result may not be used before;
// - turns of a role's warpgroups come in order; none ends with its turn, a product in flight or a copy unwaited for.
// Each violation is an InternalError that names the op, the buffer and the ticket.
#pragma once

#include <tessera/dsl/ir/arguments.h>

namespace tessera::ir {

struct InterpretOptions {
  int threads = 0;       // 0: one a core
  int traced_tile = 64;  // tokens a tile of grid and looped axes while they are symbolic; no result depends on it
};

// Outputs are written through the argument views. Views must be host memory. A bound on the keys of an `over` keeps
// what lies past it out; positions and lengths that masks and score functions see stay those of the axis.
void interpret(const Kernel& kernel, const Binding& binding, InterpretOptions options = {});

// Value of a scalar function at one point, e.g. a mask at (q, k). `arguments`: Function's positions, then values.
// `tables`: one a parameter of the function.
double evaluate(const Function& function, const std::vector<double>& arguments, const std::vector<Argument>& tables);

// f16 and bf16 on the host, round to nearest even.
float load_element(const void* data, DType dtype, std::int64_t index);
void store_element(void* data, DType dtype, std::int64_t index, float value);

}  // namespace tessera::ir
