// Is a kernel well formed, and is it legal at its stage?
#pragma once

#include <string>

#include <tessera/dsl/ir/ir.h>

namespace tessera::ir {

// The first violation as a sentence ("op 'dot' at kernel.cpp:12: operands share 2 axes, must share one"), or empty.
// Checks: operands defined before use and in scope, arity, operand and result types by each op's rule, region arguments
// against carried values, yields against results, indices of parameters, functions and roles.
std::string verify(const Kernel& kernel);
std::string verify(const Function& function);

// Why `kernel` is not a legal kernel of `stage`; empty if it is: only ops of that stage, extents bound from tiled on,
// layouts present at placed, products waited for before use, roles only at the top of the entry block.
std::string legal(const Kernel& kernel, Stage stage);

// Both; throws InternalError with the printed kernel and the name of the pass that made it.
void check(const Kernel& kernel, const char* pass);

}  // namespace tessera::ir
