// Gives every tile that products read a place in shared memory, and makes products asynchronous instructions.
//
//   before                                             after
//   loop %lo to %hi (%acc = %a) { ^(%i)                %ring = alloc : shared<bf16[Key:128, Depth:64] x1>
//     %k = load k(%start, %zero)                       %full = alloc : barrier<1 x1>
//     %s = dot Depth %q, %k                            loop %lo to %hi (%acc = %a, %k_use = 0) { ^(%i)
//   }                                                    %v = slot %ring, %k_use
//                                                        expect 16384 %full, %k_use
//                                                        copy k(%v ; %full, %k_use ; %start, %zero)
//                                                        wait %full, %k_use
//                                                        mma_fence
//                                                        %p = mma Depth %qv, %v
//                                                        mma_commit
//                                                        %s = mma_wait 0 %p
//
// Loops that visit the same tensor one after the other go on with the same ring (share_rings.h). A ring's uses are
// numbered by a ticket, an i32 carried through the control flow; rings in step, as K's and V's, share it. After this
// pass the kernel is one program that waits for every copy at once: correct, and slow; the next passes let the copies
// run ahead.
#pragma once

#include <tessera/dsl/ir/ir.h>

namespace tessera::backend {

ir::Kernel place_memory(const ir::Kernel& kernel);

// Bytes of one tile in shared memory: chunks of 64 columns, each rows x 128 bytes.
int shared_tile_bytes(const ir::Type& type);

}  // namespace tessera::backend
