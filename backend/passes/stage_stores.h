// Sends computed tiles out through shared memory, in tensor copies that nobody waits for.
//
//   before                                    after   %o_out = alloc : shared<bf16[Query:128, Value:128] x1>
//   role @1 {                                         role @1 {
//     ...                                               %mine = rows Query (slot %o_out, 0), (mul (group_id), 64)
//     store o(%row, 0), %out                            ...
//   }                                                   send_wait; write %mine, %out; send o(%mine ; %row, 0)
//                                                       send_wait
//                                                     }
//
// A thread holds two neighbouring columns of a product: stored from registers, each instruction of a warp touches eight
// rows, and half of every sector it writes is another's. On rows of few tiles those stores are a tenth of the time. The
// copy instead reads while the warpgroup is at its next program; a send waits only for the one before it.
//
// For tiles of 16 bits that products' threads hold in rows of whole 128 bytes, or that end with their tensor. Costs
// shared memory, so it runs last: stores for which there is none left stay as they are. A tensor that a kernel sends to
// is described by a tensor map, as those that it copies from are.
#pragma once

#include <tessera/backend/target.h>
#include <tessera/dsl/ir/ir.h>

namespace tessera::backend {

ir::Kernel stage_stores(const ir::Kernel& kernel, const Target& target);

}  // namespace tessera::backend
