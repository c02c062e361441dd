// Questions about layouts that every part of the emitter asks. No LLVM here.
#pragma once

#include <vector>

#include <tessera/dsl/ir/layout.h>

namespace tessera::backend {

// Registers a thread holds of a tile; 1 for scalars.
int registers_of(const ir::Type& type);

// Every lane and warp holds the same coordinates of the axes of `part` in both layouts: elements move between registers
// of one thread at most.
bool same_threads(const ir::Type& whole, const ir::Type& part);

// For each register of `result`, the register of `operand` with the same coordinates along the operand's axes (all 0
// for scalars). InternalError when another thread holds it.
std::vector<int> register_map(const ir::Type& result, const ir::Type& operand);

// What lanes and warps together add to the coordinate along `axis`, at most; and the largest power of two up to 16 that
// divides all of it.
int thread_part_max(const ir::Layout& layout, ir::Axis axis);
int thread_part_alignment(const ir::Layout& layout, ir::Axis axis);

// The accumulator of a 64 x n warpgroup product, and (in 16 bits) the A operand of one: dsl/ir/layout.h.
ir::Layout product_layout(ir::Axis rows, ir::Axis columns, int n);
// Both layouts put every element of `type`'s axes at the same place.
bool same_places(const ir::Type& type, const ir::Layout& a, const ir::Layout& b);

}  // namespace tessera::backend
