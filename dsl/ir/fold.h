// What elementwise operations compute, on single numbers: the arithmetic behind constant folding.
//
// Numbers of every dtype travel as doubles. i32 wraps; floats are computed in f32 and rounded to their dtype, as
// everywhere (ir.h). Results are doubles whose shortest text reads back as the same number of the dtype, so that folded
// constants print as a person would write them: 0.1 rather than 0.10000000149011612.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <tessera/dsl/ir/ir.h>

namespace tessera::ir {

// The number of type `t` nearest to `x` (ties to even); 16-bit floats by way of f32.
double round_to(DType t, double x);

// The double with the shortest text that rounds to the same number of type `t`.
double shortest(DType t, double x);

// i32 arithmetic modulo 2^32.
std::int32_t wrap(std::int64_t x);

// The result of an elementwise op on operands of dtype `operand` (of the arms, for select), to `result` for cast.
// Empty where the language leaves the result open (float to i32 out of range) and for ops that are not elementwise.
std::optional<double> fold(OpCode code, DType operand, DType result, std::span<const double> operands);

}  // namespace tessera::ir
