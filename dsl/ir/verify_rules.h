// The rule of each operation, apart from scoping: what `verify` asks about one op at a time.
#pragma once

#include <string>

#include <tessera/dsl/ir/ir.h>

namespace tessera::ir::detail {

// What an op may refer to. Functions have no kernel around them.
struct Surroundings {
  const Graph& graph;
  const std::vector<Param>& params;
  const Kernel* kernel = nullptr;
  Stage stage = Stage::traced;

  const Type& type(Value v) const { return graph.type(v); }
  const Type& operand(const Op& op, std::size_t i) const { return graph.type(op.operands[i]); }
  const Type& result(const Op& op) const { return graph.type(op.results[0]); }
};

// Each returns a clause that says what is wrong, or an empty string. Operands and results exist and their numbers are
// right when the others are called.
std::string count_rule(const Surroundings& in, const Op& op);
std::string leaf_rule(const Surroundings& in, const Op& op);
std::string elementwise_rule(const Surroundings& in, const Op& op);
std::string tile_rule(const Surroundings& in, const Op& op);
std::string memory_rule(const Surroundings& in, const Op& op);
std::string placed_rule(const Surroundings& in, const Op& op);
std::string control_rule(const Surroundings& in, const Op& op);

bool is_index(const Type& type);  // a scalar i32
std::string scalar_i32_rule(const Surroundings& in, const Op& op, std::size_t from, std::size_t to, const char* what);

// Whether op.index names a parameter of this kind, respectively a function or none.
std::string param_rule(const Surroundings& in, const Op& op, ParamKind kind, const char* what);
std::string function_rule(const Surroundings& in, const Op& op);
std::string mask_rule(const Surroundings& in, const Op& op);  // and whether it is a mask

// Adds to `into` the dims it lacks; complains where extents of the others differ.
std::string merge_rule(std::vector<Dim>& into, const std::vector<Dim>& dims);

// Contraction of `a` and `b` along op.axis, for dot and mma.
std::string product_rule(const Surroundings& in, const Op& op);

}  // namespace tessera::ir::detail
