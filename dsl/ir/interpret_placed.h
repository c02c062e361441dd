// Runs one block of a placed kernel, which computes one program or takes them from the launch: its warpgroups take
// turns over shared memory that checks every access.
#pragma once

#include <atomic>
#include <vector>

#include <tessera/dsl/ir/interpret_machine.h>

namespace tessera::ir::interp {

// What is left to do of a launch, for blocks that take their programs from it.
struct Programs {
  const WorkOrder* order;
  std::vector<std::int64_t> counts;  // along each grid axis
  std::int64_t count = 1;            // of all
  std::int64_t most = 1;             // that one block may take
  std::atomic<std::int64_t> next{0};
};

void run_placed(const Program& program, Programs& programs);

}  // namespace tessera::ir::interp
