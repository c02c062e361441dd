// Makes the rings that loops go through as deep as the schedule says.
//
//   before  %k_ring = alloc : shared<bf16[Key:128, Depth:64] x1>     after  %k_ring = alloc : shared<bf16[...] x2>
//           %k_full = alloc : barrier<1 x1>                                 %k_full = alloc : barrier<1 x2>
//
// Depth alone changes nothing yet: it is what lets a producer run ahead once roles are split. Rings that no loop fills
// (Q) stay at one stage. fit_memory takes stages back where a block has no room for them.
#pragma once

#include <tessera/backend/schedule.h>

namespace tessera::backend {

ir::Kernel pipeline_loads(const ir::Kernel& kernel, const Schedule& schedule);

}  // namespace tessera::backend
