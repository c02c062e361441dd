// The type rules of operations that the builder (which tells a user) and the verifier (which tells us) both apply.
#pragma once

#include <optional>
#include <string>

#include <tessera/dsl/ir/ir.h>

namespace tessera::ir {

// Why an operation cannot take an operand of this type, and what to do about it.
struct Refusal {
  const char* wanted;  // "floats"
  const char* remedy;
};
std::optional<Refusal> refuse_operand(OpCode code, const Type& type);

// The same axes with the same extents, in whatever order.
bool same_dims(const std::vector<Dim>& a, const std::vector<Dim>& b);

// The same value in the same place: everything but the order of the dims.
bool same_type(const Type& a, const Type& b);

// The axes that both have, by name: "Key, Depth".
std::vector<Axis> shared_axes(const Type& a, const Type& b);
std::string names_of(const std::vector<Axis>& axes);

// Whether a thread that holds an element of a tile laid out as `whole` also holds the element of `part` that goes with
// it: `part` is one operand, with some or all of the axes, of an elementwise op.
bool lies_within(const Type& part, const Type& whole);

}  // namespace tessera::ir
