// Makes the rings that loops go through as deep as the schedule says.
//
//   before  %k_ring = alloc : shared<bf16[Key:128, Depth:64] x1>     after  %k_ring = alloc : shared<bf16[...] x2>
//           %k_full = alloc : barrier<1 x1>                                 %k_full = alloc : barrier<1 x2>
//
// Depth alone changes nothing yet: it is what lets a producer run ahead once roles are split. Rings that are filled
// once a program (Q) get a second stage where blocks take programs, so that the next program's tile is there when this
// one ends. fit_memory takes stages back where a block has no room for them.
#pragma once

#include <cstdint>
#include <unordered_set>

#include <tessera/backend/schedule.h>

namespace tessera::backend {

ir::Kernel pipeline_loads(const ir::Kernel& kernel, const Schedule& schedule);

// Ids of the rings and barriers (results of alloc) that are used inside loops: of several tiles a program.
std::unordered_set<std::uint32_t> looped_rings(const ir::Kernel& kernel);

}  // namespace tessera::backend
