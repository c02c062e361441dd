#include <tessera/dsl/ir/verify.h>

#include <fmt/format.h>

#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/verify_rules.h>

namespace tessera::ir {

namespace {

using detail::Surroundings;

std::string sentence(const Op& op, const std::string& reason) {
  std::string where = op.loc ? " at " + to_string(op.loc) : std::string();
  return fmt::format("op '{}'{}: {}", info(op.code).name, where, reason);
}

// Scoping, and each op's rule, over one graph. The first complaint ends it.
class GraphVerifier {
 public:
  explicit GraphVerifier(Surroundings in) : in_(in), state_(in.graph.values.size(), State::undefined) {}

  std::string run() {
    for (Value arg : in_.graph.entry.args) {
      if (std::string reason = define(arg); !reason.empty()) return "entry block: " + reason;
    }
    return block(in_.graph.entry);
  }

 private:
  enum class State : std::uint8_t { undefined, live, out_of_scope };

  std::string define(Value v) {
    if (v.id >= state_.size()) return fmt::format("defines value {} of a table of {}", v.id, state_.size());
    if (state_[v.id] != State::undefined) return fmt::format("defines value {} again", v.id);
    state_[v.id] = State::live;
    return {};
  }

  std::string use(const Op& op) {
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      Value v = op.operands[i];
      if (v.id >= state_.size()) return fmt::format("operand {} is no value", i);
      if (state_[v.id] == State::undefined) return fmt::format("operand {} is used before it is defined", i);
      if (state_[v.id] == State::out_of_scope)
        return fmt::format("operand {} is used outside the region that defines it", i);
    }
    return {};
  }

  void leave(const Block& region) {
    auto end = [&](Value v) {
      if (v.id < state_.size()) state_[v.id] = State::out_of_scope;
    };
    for (Value v : region.args) end(v);
    for (const Op& op : region.ops) {
      for (Value v : op.results) end(v);
    }
  }

  std::string block(const Block& block) {
    for (const Op& op : block.ops) {
      std::string reason = use(op);
      if (reason.empty()) reason = detail::count_rule(in_, op);
      if (reason.empty() && op.code == OpCode::yield && &op != &block.ops.back())
        reason = "is not the last op of its region";
      if (!reason.empty()) return sentence(op, reason);
      if (std::string inner = regions(op); !inner.empty()) return inner;
      for (Value v : op.results) {
        if (reason.empty()) reason = define(v);
      }
      if (reason.empty()) reason = rule(op);
      if (!reason.empty()) return sentence(op, reason);
    }
    return {};
  }

  std::string regions(const Op& op) {
    for (const Block& region : op.regions) {
      for (Value arg : region.args) {
        if (std::string reason = define(arg); !reason.empty()) return sentence(op, reason);
      }
      if (std::string reason = block(region); !reason.empty()) return reason;
      leave(region);
    }
    return {};
  }

  std::string rule(const Op& op) {
    switch (info(op.code).kind) {
      case OpKind::leaf: return detail::leaf_rule(in_, op);
      case OpKind::unary:
      case OpKind::binary:
      case OpKind::compare:
      case OpKind::ternary: return detail::elementwise_rule(in_, op);
      case OpKind::reduce:
      case OpKind::tile: return detail::tile_rule(in_, op);
      case OpKind::memory: return detail::memory_rule(in_, op);
      case OpKind::control: return detail::control_rule(in_, op);
      case OpKind::placed: return detail::placed_rule(in_, op);
    }
    return "is of an unknown kind";
  }

  Surroundings in_;
  std::vector<State> state_;
};

std::string verify_param(const Param& param) {
  if (param.name.empty()) return "a parameter has no name";
  if (param.kind == ParamKind::table && param.rank < 1) {
    return fmt::format("table '{}' has rank {}", param.name, param.rank);
  }
  bool tensor = param.kind == ParamKind::input || param.kind == ParamKind::output;
  if (!tensor && !param.axes.empty()) return fmt::format("parameter '{}' is no tensor but has axes", param.name);
  for (std::size_t i = 0; i < param.axes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (param.axes[i] == param.axes[j]) {
        return fmt::format("parameter '{}' has axis {} twice", param.name, param.axes[i].name());
      }
    }
  }
  return {};
}

bool is_scalar_op(OpCode code) {
  return is_elementwise(code) || code == OpCode::constant || code == OpCode::scalar || code == OpCode::gather ||
         code == OpCode::yield;
}

std::string verify_function(const Function& function) {
  const Graph& graph = function.graph;
  auto complain = [&](const std::string& reason) { return fmt::format("function '{}': {}", function.name, reason); };
  if (function.result_arguments() < 0) {
    return complain(fmt::format("has {} arguments, must have at least 6", graph.entry.args.size()));
  }
  for (const ValueInfo& v : graph.values) {
    if (!v.type.is_scalar()) return complain("has a value of type " + to_string(v.type) + ", must be scalar");
  }
  for (const Param& param : function.params) {
    if (std::string reason = verify_param(param); !reason.empty()) return complain(reason);
  }
  for (const Op& op : graph.entry.ops) {
    if (!is_scalar_op(op.code)) return complain(sentence(op, "is no scalar op"));
  }
  if (std::string reason = GraphVerifier({graph, function.params}).run(); !reason.empty()) return complain(reason);
  for (int i = 0; i < Function::kPositions; ++i) {
    if (!detail::is_index(graph.type(graph.entry.args[i]))) {
      return complain(fmt::format("argument {} is {}, must be i32", i, to_string(graph.type(graph.entry.args[i]))));
    }
  }
  if (graph.entry.ops.empty() || graph.entry.ops.back().code != OpCode::yield)
    return complain("does not end in a yield");
  return {};
}

}  // namespace

std::string verify(const Function& function) { return verify_function(function); }

std::string verify(const Kernel& kernel) {
  for (const Param& param : kernel.params) {
    if (std::string reason = verify_param(param); !reason.empty()) return reason;
  }
  for (const Function& function : kernel.functions) {
    if (std::string reason = verify_function(function); !reason.empty()) return reason;
  }
  if (!kernel.entry.args.empty())
    return fmt::format("the entry block has {} arguments, must have 0", kernel.entry.args.size());
  if (!kernel.entry.ops.empty() && kernel.entry.ops.back().code == OpCode::yield)
    return "the entry block ends in a yield";
  return GraphVerifier({kernel, kernel.params, &kernel, kernel.stage}).run();
}

void check(const Kernel& kernel, const char* pass) {
  std::string reason = verify(kernel);
  if (reason.empty()) reason = legal(kernel, kernel.stage);
  if (!reason.empty()) throw InternalError(fmt::format("after pass '{}': {}", pass, reason), print(kernel));
}

}  // namespace tessera::ir
