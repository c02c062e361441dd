// How many blocks of a kernel a multiprocessor runs at once, each with its share of memory and registers (share_of).
//
// Two or three warpgroups of a block fill the tensor cores by themselves, one computing while another waits for its
// products. One alone leaves them idle while it exponentiates: a second block beside it has rows and keys of its own to
// compute with. Kernels without products share a multiprocessor as the hardware likes.
#pragma once

#include <tessera/backend/layouts.h>
#include <tessera/backend/schedule.h>

namespace tessera::backend {

// A schedule that names a number has it. Else there are as many as fit: by the memory of the rings of `kernel`, which
// have their stages, and by an estimate of registers, of which a thread that issues copies has `to_copy`.
int blocks_at_once(const ir::Kernel& kernel, const LayoutRule& rule, int to_copy, const Schedule& schedule,
                   const Target& target);

}  // namespace tessera::backend
