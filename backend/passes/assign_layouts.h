// Decides who holds what: gives every tile in registers a layout, and leaves loads that only matrix products read
// without one, which sends them to shared memory.
//
//   before  %k = load k(...) : bf16[Key:128, Depth:64]         after  %k = load k(...) : bf16[Key:128, Depth:64]
//           %s = dot Depth %k, %q : f32[Query:128, Key:128]            %s = dot Depth %q, %k : f32[...] {reg 2*Key:1
//           ...} %m = reduce_max Key %s : f32[Query:128]                    %m = reduce_max Key %s : f32[...] {slice}
//
// The left operand of every dot is turned to be the one with the row axis (backend/layouts.h): it may come from
// registers or from shared memory; the right one comes from shared memory and so must be loaded. A load that feeds both
// a product and arithmetic is read twice, once into each place. Runs first. Nothing before it may look at layouts.
#pragma once

#include <tessera/backend/layouts.h>

namespace tessera::backend {

// UserErrors: a right operand that is computed, operands that are not both f16 or both bf16 or not of two axes, extents
// that no matrix instruction has, and LayoutRule's.
ir::Kernel assign_layouts(const ir::Kernel& tiled, const LayoutRule& rule);

// A load without a layout is one that place_memory puts in shared memory.
bool is_shared_load(const ir::Op& op, const ir::Graph& graph);

}  // namespace tessera::backend
