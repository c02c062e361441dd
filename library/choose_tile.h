// How large the tiles of an attention call are, where neither the user nor tuning says: the candidate whose tiles under
// this mask take the least time by the backend's measured costs.
#pragma once

#include <tessera/backend/schedule.h>
#include <tessera/library/planned.h>

namespace tessera::library {

// `wanted`: extents that are given, 0 where they are not. Depends on the program alone: calls of all lengths and
// scalars share a kernel, and compute the same bits whatever was called before.
backend::TileShape choose_tile(backend::TileShape wanted, const TracedProgram& program, const backend::Target& target);

}  // namespace tessera::library
