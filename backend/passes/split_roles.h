// Divides one program among warpgroups: a producer that issues the copies, and consumers that take 64 rows each.
//
//   before                                  after
//   expect ...; copy q(...); wait ...       role @0 { (loops, addresses, expect, copy) }                 // producer
//   loop ... {                              role @1 {                                                    // consumers
//     expect ...; copy k(...); wait ...       %g = group_id
//     mma ...                                 loop ... { wait ...; %r = rows Query %qv, (mul %g, 64); mma Depth %r, ...
//     }
//   }                                         store o(%row + 64 * %g, ...)
//   store o(%row, ...)                      }
//
// Both roles walk the same loops over the same scalars; each carries only what it needs. Constants that both need stay
// outside. In a consumer the row axis has 64 elements: coordinates, positions and views along it move by 64 times the
// group. Registers are divided by the target's budget. A kernel without products keeps one program for all its warps.
// Runs after pipeline_loads; the empty barriers that let a producer refill a ring come from place_barriers.
#pragma once

#include <tessera/backend/layouts.h>
#include <tessera/backend/schedule.h>

namespace tessera::backend {

// UserErrors: a copy whose address or condition depends on computed tiles, a reduction or product over the row axis of
// more than one warpgroup.
ir::Kernel split_roles(const ir::Kernel& kernel, const LayoutRule& rule, const Schedule& schedule,
                       const Target& target);

}  // namespace tessera::backend
