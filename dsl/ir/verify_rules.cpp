#include <tessera/dsl/ir/verify_rules.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <tessera/dsl/ir/typing.h>

namespace tessera::ir::detail {

bool is_index(const Type& type) { return type.is_scalar() && type.dtype == DType::i32; }

std::string scalar_i32_rule(const Surroundings& in, const Op& op, std::size_t from, std::size_t to, const char* what) {
  for (std::size_t i = from; i < to; ++i) {
    if (!is_index(in.operand(op, i))) return fmt::format("{} is {}, must be i32", what, to_string(in.operand(op, i)));
  }
  return {};
}

std::string param_rule(const Surroundings& in, const Op& op, ParamKind kind, const char* what) {
  if (op.index < 0 || op.index >= static_cast<int>(in.params.size())) {
    return fmt::format("refers to parameter {} of {}", op.index, in.params.size());
  }
  const Param& param = in.params[op.index];
  if (param.kind != kind) return fmt::format("parameter '{}' is not {}", param.name, what);
  return {};
}

std::string function_rule(const Surroundings& in, const Op& op) {
  if (in.kernel && op.index >= static_cast<int>(in.kernel->functions.size())) {
    return fmt::format("refers to function {} of {}", op.index, in.kernel->functions.size());
  }
  return {};
}

namespace {

// What function op.index yields: one value of this dtype.
std::string yield_rule(const Surroundings& in, const Op& op, DType wanted) {
  const Function& function = in.kernel->functions[op.index];
  const std::vector<Value>& yielded = function.graph.entry.ops.back().operands;
  if (yielded.size() == 1 && function.graph.type(yielded[0]).dtype == wanted) return {};
  return fmt::format("function '{}' does not yield one {}", function.name, name_of(wanted));
}

}  // namespace

std::string mask_rule(const Surroundings& in, const Op& op) {
  if (std::string reason = function_rule(in, op); !reason.empty()) return reason;
  if (!in.kernel || op.index < 0) return {};
  const Function& function = in.kernel->functions[op.index];
  if (int takes = function.result_arguments()) {
    return fmt::format("function '{}' takes {} values, a mask takes none", function.name, takes);
  }
  return yield_rule(in, op, DType::i1);
}

namespace {

bool gives_value(const Op& op) {
  switch (op.code) {
    case OpCode::store:
    case OpCode::yield:
    case OpCode::role:
    case OpCode::copy:
    case OpCode::write:
    case OpCode::send:
    case OpCode::send_wait:
    case OpCode::expect:
    case OpCode::arrive:
    case OpCode::wait:
    case OpCode::turn_wait:
    case OpCode::turn_pass:
    case OpCode::mma_fence:
    case OpCode::mma_commit: return false;
    default: return true;
  }
}

// Least and most operands where the table says "varies".
std::pair<std::size_t, std::size_t> operand_range(OpCode code) {
  switch (code) {
    case OpCode::position: return {0, 1};
    case OpCode::exists: return {1, 2};
    case OpCode::tile_at: return {2, SIZE_MAX};
    case OpCode::dot:
    case OpCode::mma: return {2, 3};
    case OpCode::apply:
    case OpCode::loop: return {2, SIZE_MAX};
    case OpCode::store:
    case OpCode::send:
    case OpCode::gather:
    case OpCode::when: return {1, SIZE_MAX};
    case OpCode::copy: return {3, SIZE_MAX};
    default: return {0, SIZE_MAX};
  }
}

std::string constant_rule(const Type& type, double number) {
  bool fits =
      is_float(type.dtype) || (std::floor(number) == number && number >= -2147483648.0 && number <= 2147483647.0);
  if (type.dtype == DType::i1) fits = number == 0 || number == 1;
  return fits ? "" : fmt::format("{} is not a number of type {}", number, name_of(type.dtype));
}

std::string tile_at_rule(const Surroundings& in, const Op& op) {
  if (!in.kernel || op.index < 0 || op.index >= static_cast<int>(in.kernel->orders.size()))
    return fmt::format("refers to order {} of {}", op.index, in.kernel ? in.kernel->orders.size() : 0);
  const AxisOrder& cut = in.kernel->orders[static_cast<std::size_t>(op.index)];
  if (cut.axis != op.axis)
    return fmt::format("is of {}, but order {} is of {}", op.axis.name(), op.index, cut.axis.name());
  if (const std::size_t digits = cut.order.digits.size(); op.operands.size() != digits + 1)
    return fmt::format("has {} operands, must have {}: order {} has {} digits", op.operands.size(), digits + 1,
                       to_string(cut.order), digits);
  const Type& result = in.result(op);
  if (result.kind != TypeKind::index || !result.has(op.axis))
    return fmt::format("gives {}, must give a tile of {}", to_string(result), op.axis.name());
  return scalar_i32_rule(in, op, 0, op.operands.size(), "a coordinate");
}

// position and exists.
std::string handle_rule(const Surroundings& in, const Op& op) {
  if (op.operands.empty()) return in.stage == Stage::traced ? "" : "takes a tile's handle once tiles have starts";
  const Type& handle = in.operand(op, 0);
  if (handle.kind != TypeKind::index || !handle.has(op.axis))
    return fmt::format("takes a tile of {}, not {}", op.axis ? op.axis.name() : "no axis", to_string(handle));
  if (op.code == OpCode::position && op.index >= 0 && (in.stage == Stage::traced || op.number < op.index))
    return fmt::format("takes digits {} to {}", op.index, op.number);
  return scalar_i32_rule(in, op, 1, op.operands.size(), "the end");
}

std::string allowed_rule(const Surroundings& in, const Op& op) {
  if (std::string reason = mask_rule(in, op); !reason.empty()) return reason;
  const Type& handle = in.operand(op, 0);
  const Type& result = in.result(op);
  bool fits = handle.kind == TypeKind::index && handle.dims.size() == 1 && result.dtype == DType::i1 &&
              result.dims.size() == 2 && result.has(handle.dims[0].axis);
  return fits ? "" : fmt::format("gives {} for {}", to_string(result), to_string(handle));
}

}  // namespace

std::string count_rule(const Surroundings&, const Op& op) {
  int wanted = info(op.code).operands;
  auto [least, most] = wanted < 0 ? operand_range(op.code) : std::pair<std::size_t, std::size_t>(wanted, wanted);
  std::size_t n = op.operands.size();
  if (n < least || n > most) {
    const char* relation = least == most ? "" : n < least ? "at least " : "at most ";
    return fmt::format("has {} operands, must have {}{}", n, relation, n < least ? least : most);
  }
  std::size_t regions = has_region(op.code) ? 1 : 0;
  if (op.regions.size() != regions) return fmt::format("has {} regions, must have {}", op.regions.size(), regions);
  bool carries = op.code == OpCode::mma_wait || info(op.code).kind == OpKind::control;
  std::size_t results = gives_value(op) ? 1 : 0;
  if (op.code != OpCode::mma_wait && carries && results) return {};
  if (op.code == OpCode::mma_wait) results = n;
  if (op.results.size() != results) return fmt::format("has {} results, must have {}", op.results.size(), results);
  return {};
}

std::string leaf_rule(const Surroundings& in, const Op& op) {
  const Type& result = in.result(op);
  if (op.code == OpCode::tile_at) return tile_at_rule(in, op);
  if (result.kind != TypeKind::tile) return fmt::format("gives {}, must give a tile or scalar", to_string(result));
  const DType dtype = op.code == OpCode::exists ? DType::i1 : DType::i32;
  bool tile_of_axis = result.dims.size() == 1 && result.dims[0].axis == op.axis && result.dtype == dtype;
  switch (op.code) {
    case OpCode::constant: return constant_rule(result, op.number);
    case OpCode::allowed: return allowed_rule(in, op);
    case OpCode::iota: break;
    case OpCode::position:
    case OpCode::exists:
      if (std::string reason = handle_rule(in, op); !reason.empty()) return reason;
      break;
    case OpCode::scalar:
      if (std::string reason = param_rule(in, op, ParamKind::scalar, "a scalar"); !reason.empty()) return reason;
      if (result != Type::scalar(in.params[op.index].dtype)) {
        return fmt::format("gives {}, but parameter '{}' is {}", to_string(result), in.params[op.index].name,
                           name_of(in.params[op.index].dtype));
      }
      return {};
    case OpCode::program_id:
      if (in.kernel && std::count(in.kernel->grid.begin(), in.kernel->grid.end(), op.axis) == 0) {
        return fmt::format("{} is not an axis of the grid", op.axis ? op.axis.name() : "nothing");
      }
      [[fallthrough]];
    case OpCode::length:
      if (!op.axis) return "names no axis";
      [[fallthrough]];
    default: return is_index(result) ? "" : fmt::format("gives {}, must give i32", to_string(result));
  }
  if (!op.axis) return "names no axis";
  return tile_of_axis ? ""
                      : fmt::format("gives {}, must give {}[{}]", to_string(result), name_of(dtype), op.axis.name());
}

std::string merge_rule(std::vector<Dim>& into, const std::vector<Dim>& dims) {
  for (const Dim& d : dims) {
    auto known = std::find_if(into.begin(), into.end(), [&](const Dim& other) { return other.axis == d.axis; });
    if (known == into.end()) {
      into.push_back(d);
    } else if (known->extent != d.extent) {
      return fmt::format("axis {} has {} elements in one operand and {} in another", d.axis.name(), known->extent,
                         d.extent);
    }
  }
  return {};
}

std::string elementwise_rule(const Surroundings& in, const Op& op) {
  const Type& result = in.result(op);
  std::vector<Dim> dims;
  for (Value v : op.operands) {
    const Type& t = in.type(v);
    bool condition = op.code == OpCode::select && v == op.operands[0];
    if (auto refusal = condition ? std::nullopt : refuse_operand(op.code, t)) {
      return fmt::format("takes {}, not {}", refusal->wanted, to_string(t));
    }
    if (std::string reason = merge_rule(dims, t.dims); !reason.empty()) return reason;
  }
  std::size_t first = 0;
  if (op.code == OpCode::select) {
    if (in.operand(op, 0).dtype != DType::i1) {
      return fmt::format("the condition is {}, must be i1", to_string(in.operand(op, 0)));
    }
    first = 1;
  }
  const Type& a = in.operand(op, first);
  for (std::size_t i = first + 1; i < op.operands.size(); ++i) {
    const Type& b = in.operand(op, i);
    if (b.dtype != a.dtype) return fmt::format("operands have different dtypes: {} and {}", to_string(a), to_string(b));
  }
  DType dtype = info(op.code).kind == OpKind::compare ? DType::i1 : a.dtype;
  if (op.code == OpCode::cast) {
    dtype = result.dtype;
    if (dtype == DType::i1) return "casts to i1";
  }
  if (result.kind != TypeKind::tile || result.dtype != dtype || !same_dims(result.dims, dims)) {
    return fmt::format("gives {}, must give {}", to_string(result), to_string(Type::tile(dtype, dims)));
  }
  return {};
}

std::string product_rule(const Surroundings& in, const Op& op) {
  const Type& a = in.operand(op, 0);
  const Type& b = in.operand(op, 1);
  const Type& result = in.result(op);
  if (a.dtype != b.dtype || !is_float(a.dtype)) {
    return fmt::format("operands have dtypes it cannot multiply: {} and {}", to_string(a), to_string(b));
  }
  std::vector<Axis> shared = shared_axes(a, b);
  if (shared.size() != 1) {
    return fmt::format("operands share {} axes{}, must share one: {} and {}", shared.size(),
                       shared.empty() ? "" : " (" + names_of(shared) + ")", to_string(a), to_string(b));
  }
  if (shared[0] != op.axis)
    return fmt::format("contracts {}, but its operands share {}", op.axis.name(), shared[0].name());
  if (a.extent(op.axis) != b.extent(op.axis)) {
    return fmt::format("axis {} has {} elements in one operand and {} in the other", op.axis.name(), a.extent(op.axis),
                       b.extent(op.axis));
  }
  Type wanted = Type::tile(DType::f32, broadcast_dims(a.dims, b.dims));
  std::erase_if(wanted.dims, [&](const Dim& d) { return d.axis == op.axis; });
  if (result.kind != TypeKind::tile || result.dtype != DType::f32 || !same_dims(result.dims, wanted.dims)) {
    return fmt::format("gives {}, must give {}", to_string(result), to_string(wanted));
  }
  if (op.operands.size() == 3 && !same_type(in.operand(op, 2), result)) {
    return fmt::format("adds {} to a product of type {}", to_string(in.operand(op, 2)), to_string(result));
  }
  return {};
}

namespace {

std::string reduce_rule(const Surroundings& in, const Op& op) {
  const Type& a = in.operand(op, 0);
  if (auto refusal = refuse_operand(op.code, a)) return fmt::format("takes {}, not {}", refusal->wanted, to_string(a));
  if (!a.has(op.axis)) return fmt::format("{} has no axis {}", to_string(a), op.axis.name());
  Type wanted = Type::tile(a.dtype, a.dims);
  std::erase_if(wanted.dims, [&](const Dim& d) { return d.axis == op.axis; });
  const Type& result = in.result(op);
  if (result.kind != TypeKind::tile || result.dtype != a.dtype || !same_dims(result.dims, wanted.dims)) {
    return fmt::format("gives {}, must give {}", to_string(result), to_string(wanted));
  }
  return {};
}

std::string apply_rule(const Surroundings& in, const Op& op) {
  if (op.index < 0) return "names no function";
  if (in.operand(op, 0).kind != TypeKind::index) {
    return fmt::format("its first operand is {}, must be a tile handle", to_string(in.operand(op, 0)));
  }
  if (!in.kernel) return "is not an op of scalar functions";
  int takes = in.kernel->functions[op.index].result_arguments();
  if (takes != static_cast<int>(op.operands.size()) - 1) {
    return fmt::format("gives {} values to function '{}', which takes {}", op.operands.size() - 1,
                       in.kernel->functions[op.index].name, takes);
  }
  const Graph& function = in.kernel->functions[op.index].graph;
  for (std::size_t i = 1; i < op.operands.size(); ++i) {
    DType wanted = function.type(function.entry.args[Function::kPositions + i - 1]).dtype;
    if (in.operand(op, i).dtype == wanted) continue;
    return fmt::format("gives {} to function '{}', which takes {}", to_string(in.operand(op, i)),
                       in.kernel->functions[op.index].name, name_of(wanted));
  }
  if (std::string reason = yield_rule(in, op, in.operand(op, 1).dtype); !reason.empty()) return reason;
  if (!same_type(in.result(op), in.operand(op, 1))) {
    return fmt::format("gives {}, must give {}", to_string(in.result(op)), to_string(in.operand(op, 1)));
  }
  return {};
}

}  // namespace

std::string tile_rule(const Surroundings& in, const Op& op) {
  const Type& result = in.result(op);
  switch (op.code) {
    case OpCode::broadcast:
    case OpCode::convert: {
      const Type& a = in.operand(op, 0);
      bool fits = a.kind == TypeKind::tile && result.kind == TypeKind::tile && a.dtype == result.dtype;
      for (const Dim& d : a.dims) fits = fits && result.has(d.axis) && result.extent(d.axis) == d.extent;
      if (op.code == OpCode::convert) fits = fits && a.dims.size() == result.dims.size();
      return fits ? "" : fmt::format("{} does not become {}", to_string(a), to_string(result));
    }
    case OpCode::partial_sum: {
      const Type& a = in.operand(op, 0);
      bool fits = a.kind == TypeKind::tile && a.dtype == DType::f32 && result.dtype == a.dtype && a.has(op.axis) &&
                  result.has(op.axis) && result.dims.size() == a.dims.size();
      for (const Dim& d : a.dims)
        fits = fits && result.has(d.axis) &&
               (d.axis == op.axis ? d.extent % result.extent(d.axis) == 0 : d.extent == result.extent(d.axis));
      return fits ? "" : fmt::format("{} does not become {}", to_string(a), to_string(result));
    }
    case OpCode::dot:
      for (Value v : op.operands) {
        if (in.type(v).kind != TypeKind::tile) return fmt::format("takes tiles, not {}", to_string(in.type(v)));
      }
      return product_rule(in, op);
    case OpCode::apply: {
      if (std::string reason = function_rule(in, op); !reason.empty()) return reason;
      return apply_rule(in, op);
    }
    default: return reduce_rule(in, op);
  }
}

}  // namespace tessera::ir::detail
