// What values, parameters and numbers look like in a kernel's text; shared by the printer and the parser.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include <tessera/dsl/ir/ir.h>

namespace tessera::ir::detail {

// A scalar constant: written where it is used, with no line or name of its own.
bool is_literal(const Graph& graph, const Op& op);

// The dtype that a number has as operand `i` of `op` where none is written with it. May look at the op's results, and
// at the operands before `i`.
DType implied_dtype(const Graph& graph, const Op& op, std::size_t i);

// Letters, digits and '_' only, not starting with a digit: what the parser reads back as one name.
std::string identifier(const std::string& name);

// "row_max.1" is the second value called row_max.
std::string without_suffix(const std::string& name);

// Hands out distinct names: the first asker gets the name itself, later ones name.1, name.2, ...
class Distinct {
 public:
  std::string operator()(const std::string& wanted);

 private:
  std::unordered_map<std::string, int> asked_;
};

// Names of all values of a graph but literals, in order of appearance. What a region carries comes before the results
// that carry the same names, so that %row_max is the value inside a loop and %row_max.1 the one after it.
class ValueNames {
 public:
  explicit ValueNames(const Graph& graph);
  std::string operator[](Value v) const;  // "%name"; "%?" for a value that nothing defines
  const Op* literal(Value v) const;       // the constant that makes it, if it is one

 private:
  void name(Value v);
  void block(const Block& block);

  const Graph& graph_;
  std::vector<std::string> names_;
  std::unordered_map<std::uint32_t, const Op*> literals_;
  Distinct distinct_;
  int next_ = 0;
};

// Arguments of a function that nobody named: q, k, head, ... then x.
std::string argument_name(const Function& function, std::size_t i);

}  // namespace tessera::ir::detail
