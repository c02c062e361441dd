// What elementwise operations compute, on single numbers of any dtype: by value for those who evaluate scalar functions
// on the host, and as constants for the simplifier.
//
// Numbers of every dtype travel as doubles. i32 wraps; floats are computed in f32 and rounded to their dtype, as
// everywhere (ir.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <tessera/dsl/ir/arithmetic.h>
#include <tessera/dsl/ir/ir.h>

namespace tessera::ir {

// The number of type `t` nearest to `x` (ties to even); 16-bit floats by way of f32.
double round_to(DType t, double x);

// The double with the shortest text that rounds to the same number of type `t`.
double shortest(DType t, double x);

// An elementwise op on operands of dtype `operand` (of the arms, for select), to `result` for cast. A float that no i32
// is near casts to the nearest end, NaN to 0: what the interpreter does.
double evaluate(OpCode code, DType operand, DType result, double a, double b = 0, double c = 0);

// The same as a constant: floats with their shortest text, so that they print as a person would write them, 0.1 rather
// than 0.10000000149011612. Empty where the language leaves the result open (float to i32 out of range) and for ops
// that are not elementwise.
std::optional<double> fold(OpCode code, DType operand, DType result, std::span<const double> operands);

// The comparison with its sides exchanged; `code` itself for what is no ordering.
OpCode mirrored(OpCode code);

}  // namespace tessera::ir
