// How one kernel runs on the machine: what the plan does not say. Data, beside the plan's tiles; tuning searches pairs.
#pragma once

#include <string>

#include <tessera/backend/target.h>
#include <tessera/dsl/ir/ir.h>

namespace tessera::backend {

struct Schedule {
  int warpgroups = 0;      // that compute: each takes 64 rows of the tile. 0: as many as the row axis has 64-row parts
  int stages = 2;          // of each ring that a loop's loads go through
  bool persistent = true;  // blocks take program after program (passes/take_programs.h)
  bool overlap = true;  // the second product of an iteration beside the first of the next (passes/overlap_products.h)
  bool skip_ones =
      false;  // with overlap: an accumulator's factors are tested first, and not multiplied where they are 1
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

std::string to_string(const Schedule& schedule);  // "warpgroups 2, stages 2, overlap"

// Fills what is 0 and checks the rest against the kernel and the target. UserError with needed and available registers
// when the kernel cannot fit; shared memory is counted by passes/fit_memory.
Schedule resolve(Schedule wanted, const ir::Kernel& tiled, const Target& target);

// The tile for these widths, before anything is tiled, from a table of what was measured: the facade's default.
struct TileShape {
  int query, key;
};
TileShape default_tile(int head_dim, int value_dim, const Target& target);

}  // namespace tessera::backend
