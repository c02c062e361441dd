#include <fmt/format.h>

#include <tessera/dsl/ir/typing.h>
#include <tessera/dsl/ir/verify_rules.h>

namespace tessera::ir::detail {

namespace {

// Initial values, region arguments, yielded values and results are one list of carried values.
std::string carried_rule(const Surroundings& in, const Op& op, std::size_t first_init, std::size_t own_args) {
  const Block& region = op.regions[0];
  std::size_t n = op.results.size();
  if (op.operands.size() - first_init != n) {
    return fmt::format("carries {} values but has {} results", op.operands.size() - first_init, n);
  }
  if (region.args.size() != own_args + n) {
    return fmt::format("its region has {} arguments, must have {}", region.args.size(), own_args + n);
  }
  if (region.ops.empty() || region.ops.back().code != OpCode::yield) return "its region does not end in a yield";
  const Op& yield = region.ops.back();
  if (yield.operands.size() != n)
    return fmt::format("its region yields {} values, must yield {}", yield.operands.size(), n);
  for (std::size_t i = 0; i < n; ++i) {
    const Type& result = in.type(op.results[i]);
    auto differs = [&](const char* what, Value v) {
      return same_type(in.type(v), result) ? std::string()
                                           : fmt::format("carried value {} is {} as {}, but {} as result", i,
                                                         to_string(in.type(v)), what, to_string(result));
    };
    for (const std::string& reason :
         {differs("initial value", op.operands[first_init + i]), differs("argument", region.args[own_args + i]),
          differs("yielded value", yield.operands[i])}) {
      if (!reason.empty()) return reason;
    }
  }
  return {};
}

}  // namespace

std::string control_rule(const Surroundings& in, const Op& op) {
  switch (op.code) {
    case OpCode::loop: {
      if (std::string reason = scalar_i32_rule(in, op, 0, 2, "a bound"); !reason.empty()) return reason;
      if (std::string reason = carried_rule(in, op, 2, 1); !reason.empty()) return reason;
      const Type& index = in.type(op.regions[0].args[0]);
      return is_index(index) ? "" : fmt::format("its index is {}, must be i32", to_string(index));
    }
    case OpCode::over: {
      if (std::string reason = mask_rule(in, op); !reason.empty()) return reason;
      bool bounded = op.operands.size() == op.results.size() + 1;
      if (bounded) {
        if (std::string reason = scalar_i32_rule(in, op, 0, 1, "the bound"); !reason.empty()) return reason;
      }
      if (std::string reason = carried_rule(in, op, bounded ? 1 : 0, 1); !reason.empty()) return reason;
      const Type& handle = in.type(op.regions[0].args[0]);
      bool fits = handle.kind == TypeKind::index && handle.has(op.axis);
      return fits ? "" : fmt::format("its index is {}, must be a tile of {}", to_string(handle), op.axis.name());
    }
    case OpCode::when: {
      const Type& condition = in.operand(op, 0);
      if (condition != Type::scalar(DType::i1))
        return fmt::format("the condition is {}, must be i1", to_string(condition));
      return carried_rule(in, op, 1, 0);
    }
    case OpCode::programs: {
      if (std::string reason = carried_rule(in, op, 0, 1); !reason.empty()) return reason;
      const Type& turn = in.type(op.regions[0].args[0]);
      return is_index(turn) ? "" : fmt::format("its turn is {}, must be i32", to_string(turn));
    }
    default: return {};
  }
}

}  // namespace tessera::ir::detail
