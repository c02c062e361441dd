// Makes the rings that loops go through as deep as the schedule says, or as shared memory allows.
//
//   before  %k_ring = alloc : shared<bf16[Key:128, Depth:64] x1>     after  %k_ring = alloc : shared<bf16[...] x2>
//           %k_full = alloc : barrier<1 x1>                                 %k_full = alloc : barrier<1 x2>
//
// Depth alone changes nothing yet: it is what lets a producer run ahead once roles are split. Rings used once (Q) stay
// at one stage.
#pragma once

#include <tessera/backend/schedule.h>

namespace tessera::backend {

// UserError with needed and available bytes if even one stage does not fit.
ir::Kernel pipeline_loads(const ir::Kernel& kernel, const Schedule& schedule, const Target& target);

// Bytes of all rings of a placed kernel (mbarriers included).
int shared_ring_bytes(const ir::Kernel& kernel);

}  // namespace tessera::backend
