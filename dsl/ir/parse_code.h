// Types, parameters and ops out of tokens: the parts that kernels and functions share.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <tessera/dsl/ir/ir.h>
#include <tessera/dsl/ir/parse_tokens.h>

namespace tessera::ir::detail {

using Layouts = std::vector<std::shared_ptr<const Layout>>;

Dim parse_dim(Tokens& in);
Type parse_type(Tokens& in, const Layouts& layouts);
Layout parse_layout(Tokens& in);
Param parse_param(Tokens& in, std::string& written);  // after `param`; `written` is the name with its number

// Ops of one graph. Names are visible in the region that defines them, and in those inside it.
class CodeParser {
 public:
  CodeParser(Tokens& in, Graph& graph, const Layouts& layouts) : in_(in), graph_(graph), layouts_(layouts) {}

  void add_param(const std::string& written) { params_.push_back(written); }
  Value define(const Token& name, Type type, const Op* producer = nullptr);
  void block(Block& into);  // up to and with the closing brace

 private:
  Op op();
  void head(Op& op);
  void access(Op& op, bool parenthesized);
  void coordinates(Op& op);
  void region(Op& op);
  void carried(Op& op, std::vector<Token>& names);
  void results(Op& op, const std::vector<Token>& names);

  Value use();
  void uses(Op& op);            // a list of values, possibly empty, on this line
  void optional_index(Op& op);  // "@0"
  int param();
  Axis axis() { return Axis::named(in_.word("the name of an axis")); }

  Tokens& in_;
  Graph& graph_;
  const Layouts& layouts_;
  std::vector<std::string> params_;
  std::unordered_map<std::string, Value> names_;
  std::vector<std::string> visible_;  // in order of definition: what leaving a region makes invisible
};

}  // namespace tessera::ir::detail
