// Reading and making the elements of tiles, whatever their representation (emitter.h).
#pragma once

#include <functional>

#include <tessera/backend/emit/emitter.h>

namespace tessera::backend {

// 16-bit elements of the tile are packed in pairs.
bool packed(const ir::Type& type);
// LLVM type of one value of Bound::regs, and how many there are.
llvm::Type* register_type(Emitter& e, const ir::Type& type);
int register_values(const ir::Type& type);

// Element of layout register `reg` as stored: i1, i32, float, or the bits of a 16-bit float as i16.
llvm::Value* raw_element(Emitter& e, const Bound& tile, const ir::Type& type, int reg);
// The same, with 16-bit floats widened to float.
llvm::Value* element(Emitter& e, const Bound& tile, const ir::Type& type, int reg);

// A tile from what `at(register)` gives: for `make_raw` as raw_element, for `make` as element, rounded.
using ElementAt = std::function<llvm::Value*(int reg)>;
Bound make_raw(Emitter& e, const ir::Type& type, const ElementAt& at);
Bound make(Emitter& e, const ir::Type& type, const ElementAt& at);

// A constant element in the arithmetic type: float or i32 or i1.
llvm::Value* constant_element(Emitter& e, DType dtype, double number);

// What lane and warp add to the coordinate along `axis`.
llvm::Value* thread_part(Emitter& e, const ir::Layout& layout, ir::Axis axis);
// Of the copies of an element that a layout replicates over lanes and warps, this thread holds the first. Null if there
// is only one.
llvm::Value* first_copy(Emitter& e, const ir::Layout& layout);

}  // namespace tessera::backend
