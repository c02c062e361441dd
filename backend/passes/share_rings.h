// Which loads for products may go through one ring: those that are never needed at the same time.
//
//   loop ... { %k = load k(...); dot %q, %k }      one ring: the second loop goes on where the first left it
//   loop ... { %k = load k(...); dot %q, %k }
//
//   %a = load k(%i); %b = load k(%j)               two rings: a ring is refilled in the order of its loads, and with
//   dot %q, %a; dot %q, %b                         one stage %b would wait for %a to be read, which waits for %b
//
// A load is needed from where it stands to its last reader; if that is within a loop or branch, to the end of that.
// What lies in one ring this way is correct at any depth.
#pragma once

#include <unordered_map>

#include <tessera/dsl/ir/ir.h>

namespace tessera::backend {

// By the id of a load's result (is_shared_load): the number of its ring, from 0 in the order of first loads. All loads
// of a ring have the same parameter and type.
std::unordered_map<std::uint32_t, int> share_rings(const ir::Kernel& kernel);

}  // namespace tessera::backend
