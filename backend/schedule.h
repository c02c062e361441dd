// How one kernel runs on the machine: what the plan does not say. Data, beside the plan's tiles; tuning searches pairs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tessera/backend/target.h>
#include <tessera/dsl/ir/ir.h>

namespace tessera::backend {

struct Schedule {
  int warpgroups = 0;      // that compute: each takes 64 rows of the tile. 0: as many as the row axis has 64-row parts
  int stages = 2;          // of each ring that a loop's loads go through
  int blocks = 0;          // that a multiprocessor runs at once. 0: as blocks_at_once.h says
  bool persistent = true;  // blocks take program after program (passes/take_programs.h)
  bool overlap = true;     // the second product of an iteration beside the first of the next (overlap_products.h)
  std::optional<bool> turns = {};  // warpgroups issue the products of an iteration in turns (take_turns.h)
  std::optional<bool> skip_ones =
      {};  // with overlap: factors of an accumulator are tested, and left out where all are 1
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

// Registers in which a thread holds results of products in: half a tile's columns, the widest product of each pair of
// axes. `row`: the axis that warpgroups divide.
int accumulator_registers(const ir::Kernel& kernel, ir::Axis row);

std::string to_string(const Schedule& schedule);  // "warpgroups 2, stages 2, persistent, overlap, skip ones"

// Fills what is left open and checks the rest against the kernel and the target. UserError with needed and available
// registers when the kernel cannot fit; shared memory is counted by passes/fit_memory.
Schedule resolve(Schedule wanted, const ir::Kernel& tiled, const Target& target);

}  // namespace tessera::backend
