// How many scalars a program keeps at once: what a role that one thread runs needs registers for.
#pragma once

#include <tessera/dsl/ir/ir.h>

namespace tessera::backend {

// The most scalars, constants apart, that are alive at one place of the kernel. A value is alive from its definition to
// its last use, and to the end of a loop that uses it and that it comes from outside of.
int most_live_scalars(const ir::Kernel& kernel);

}  // namespace tessera::backend
