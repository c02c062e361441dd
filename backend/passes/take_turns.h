// Makes the warpgroups of a role issue their products one after the other, so that one's elementwise work falls into
// the time in which the tensor cores compute another's products.
//
//   before  loop ... {                              after  loop ... {
//             wait %k_full, %n                               wait %k_full, %n
//             mma_fence; mma ...; mma_commit                 turn_wait
//             mma_fence; mma ...; mma_commit                 mma_fence; mma ...; mma_commit
//             mma_wait 1 ...                                 mma_fence; mma ...; mma_commit
//             (elementwise)                                  turn_pass
//           }                                                mma_wait 1 ...
//                                                            (elementwise)
//                                                          }
//
// Without turns nothing keeps warpgroups from doing the same thing at the same time, and they tend to: all wait for the
// products of all. A turn is a whole iteration's products, up to the first wait for one. Loops whose products are not
// all issued before the first wait keep them without turns. Runs after place_barriers: a warpgroup has what its first
// product needs before its turn comes; what the others need was loaded earlier.
#pragma once

#include <tessera/dsl/ir/ir.h>

namespace tessera::backend {

ir::Kernel take_turns(const ir::Kernel& kernel);

}  // namespace tessera::backend
