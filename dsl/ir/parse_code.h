// Types, parameters and ops out of tokens: the parts that kernels and functions share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <tessera/dsl/ir/ir.h>
#include <tessera/dsl/ir/parse_tokens.h>

namespace tessera::ir::detail {

using Layouts = std::vector<std::shared_ptr<const Layout>>;

DType parse_dtype(const Tokens& in, const Token& token, std::string_view name);
Dim parse_dim(Tokens& in);
Type parse_type(Tokens& in, const Layouts& layouts);
Layout parse_layout(Tokens& in);
Param parse_param(Tokens& in, std::string& written);  // after `param`; `written` is the name with its number

// Ops of one graph. Names are visible in the region that defines them, and in those inside it.
class CodeParser {
 public:
  CodeParser(Tokens& in, Graph& graph, const Layouts& layouts) : in_(in), graph_(graph), layouts_(layouts) {}

  void add_param(const std::string& written) { params_.push_back(written); }
  Value define(const Token& name, Type type);
  void block(Block& into);  // up to and with the closing brace

 private:
  // A number among the operands of the op being read. Until its dtype is known it goes by a value of no graph.
  struct Literal {
    double number;
    std::optional<DType> dtype;  // none: the implied one
  };
  struct Constant {
    DType dtype;
    double number;
    Value value;
  };

  Op op(Block& into);
  void head(Op& op);
  void coordinates(Op& op);
  void region(Op& op, const std::vector<Token>& names);
  void carried(Op& op, std::vector<Token>& names);
  void results(Op& op, const std::vector<Token>& names);

  Value use();
  Value literal();
  bool at_operand() const;
  void uses(Op& op);                 // a list of operands, possibly empty, on this line
  void settle(Op& op, Block& into);  // makes the constants that the op's numbers stand for
  Value constant(double number, DType dtype, SourceLoc loc, Block& into);
  void optional_index(Op& op);  // "@0"
  int param();
  Axis axis() { return Axis::named(in_.word("the name of an axis")); }

  Tokens& in_;
  Graph& graph_;
  const Layouts& layouts_;
  std::vector<std::string> params_;
  std::unordered_map<std::string, Value> names_;
  std::vector<std::string> visible_;  // in order of definition: what leaving a region makes invisible
  std::vector<Constant> constants_;   // scalar, in scope: those that a number may stand for
  std::vector<Literal> literals_;
};

}  // namespace tessera::ir::detail
