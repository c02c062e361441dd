// Elementwise operations on tiles, operands broadcast by axis name.
#pragma once

#include <span>

#include <tessera/dsl/ir/interpret_value.h>

namespace tessera::ir::interp {

// `result` is the dtype of the result; only cast and select need it, the others follow their operands.
Tile elementwise(OpCode code, DType result, std::span<const Tile* const> operands);

}  // namespace tessera::ir::interp
