// The parts of simplify: local rules, and the sweep that drops dead code and puts the rest in canonical order.
#pragma once

#include <optional>
#include <string>

#include <tessera/dsl/ir/ir.h>

namespace tessera::passes::detail {

// Emits ops into the graph being built, each simplified, shared and hoisted. What the rules see of the simplifier.
class Emitter {
 public:
  virtual ~Emitter() = default;
  virtual const ir::Type& type(ir::Value v) const = 0;
  virtual const ir::Op* definition(ir::Value v) const = 0;  // null for region arguments and results of regions
  virtual ir::Value constant(double number, ir::Type type) = 0;
  virtual ir::Value emit(ir::Op op, ir::Type type) = 0;  // `op` without results

  ir::Value emit(ir::OpCode code, std::vector<ir::Value> operands, ir::Type type) {
    return emit(ir::Op{.code = code, .operands = std::move(operands)}, std::move(type));
  }
  std::optional<double> number(ir::Value v) const;                  // the number that every element of a constant is
  std::optional<ir::Value> fit(ir::Value v, const ir::Type& type);  // `v` broadcast to `type`, if it only lacks axes
};

// A simpler value than the op's, if a rule applies; operands may also be replaced in `op` on the way.
std::optional<ir::Value> simplify_op(Emitter& out, ir::Op& op, const ir::Type& type);

// The rules for i32 arithmetic, where reordering is exact.
std::optional<ir::Value> simplify_integer(Emitter& out, const ir::Op& op, const ir::Type& type);

// add(x, dot(a, b)) becomes dot(a, b, x) where that is the product's only use.
ir::Graph accumulate_products(const ir::Graph& graph);

// Drops ops and carried values that no effect needs, and orders each block by a walk from its effects backwards.
ir::Graph sweep(const ir::Graph& graph);

bool identical(const ir::Graph& a, const ir::Graph& b);

}  // namespace tessera::passes::detail
