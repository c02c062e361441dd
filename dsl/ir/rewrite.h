// The only traversals: a walk over all ops, and a rebuild of a graph with some ops replaced.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include <tessera/dsl/ir/builder.h>

namespace tessera::ir {

// Calls `visit` on every op, outer before inner, in program order.
void walk(const Block& block, const std::function<void(const Op&)>& visit);

// Rebuilds code into another graph. For each op the callback may emit a replacement with the builder and return true;
// otherwise the op is copied, with operands mapped and regions rewritten in turn.
//
//   Kernel out = like(kernel);                 // parameters and attributes, no code
//   Rewriter r(kernel, out, [&](Rewriter& r, const Op& op, Builder& b) {
//     if (op.code != OpCode::neg) return false;
//     r.map(op.results[0], b.sub(b.constant(0, ...), r[op.operands[0]]));
//     return true;
//   });
//   r.run();
class Rewriter {
 public:
  using Callback = std::function<bool(Rewriter&, const Op&, Builder&)>;
  Rewriter(const Graph& from, Graph& to, Callback callback) : from_(from), to_(to), callback_(std::move(callback)) {}

  void run();                                     // entry block to entry block, arguments included
  void block(const Block& block, Builder& into);  // the ops of one block but its final yield: inlines a region
  void op(const Op& op, Builder& into);           // one op, callback first
  void copy(const Op& op, Builder& into);         // one op, without asking the callback
  void map(Value from, Value to);
  bool mapped(Value from) const;
  Value operator[](Value from) const;  // InternalError when it was never mapped
  std::vector<Value> operator[](const std::vector<Value>& from) const;

  // How types change on the way; identity by default. Applied to results and region arguments that are copied.
  std::function<Type(const Type&)> retype = [](const Type& t) { return t; };

 private:
  const Graph& from_;
  Graph& to_;
  Callback callback_;
  std::vector<Value> map_;  // by Value::id of `from`
};

// Name, parameters, grid and attributes of `kernel`, with empty code and value table.
Kernel like(const Kernel& kernel);

// Emits the body of a scalar function with `args` for its arguments (scalars or tiles: it broadcasts by name) and
// `first_param` added to its parameter indices. Returns what it yields; values keep the names they have in it.
std::vector<Value> inline_results(const Function& function, std::span<const Value> args, int first_param,
                                  Builder& into);
// One op of a function's body, which gives a value; `operands` are its own, emitted.
Value inline_scalar_op(const Function& function, const Op& op, std::span<const Value> operands, int first_param,
                       Builder& into);
Value inline_function(const Function& function, std::span<const Value> args, int first_param,
                      Builder& into);  // of one result

}  // namespace tessera::ir
