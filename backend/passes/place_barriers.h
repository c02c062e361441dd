// Lets the producer refill rings: empty barriers, and waits and releases as close to the products as they can be.
//
//   before  role @0 { loop ... { expect %full, %n; copy k(slot %ring, %n; ...) } }
//           role @1 { loop ... { wait %full, %n; (other work); mma ..., slot %ring, %n; mma_commit; mma_wait 0 ... } }
//   after   role @0 { loop ... { wait 1 %empty, %n; expect %full, %n; copy ... } }
//           role @1 { loop ... { (other work); wait %full, %n; mma ...; mma_commit; mma_wait 0 ...; arrive %empty, %n }
//           }
//
// A consumer waits before the first op that reads a slot and releases it after the last: for a product, after the
// mma_wait that covers its group, since products read shared memory until then. An empty barrier counts the warpgroups
// that wait for its ring; rings that are filled once need none. Runs when everything else is in its place: it looks at
// where the other passes left the products.
#pragma once

#include <tessera/dsl/ir/ir.h>

namespace tessera::backend {

ir::Kernel place_barriers(const ir::Kernel& kernel);

}  // namespace tessera::backend
