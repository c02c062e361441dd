// Runs one program of a placed kernel: its warpgroups take turns over shared memory that checks every access.
#pragma once

#include <tessera/dsl/ir/interpret_machine.h>

namespace tessera::ir::interp {

void run_placed(const Program& program);

}  // namespace tessera::ir::interp
