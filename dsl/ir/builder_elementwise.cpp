#include <fmt/format.h>

#include <tessera/dsl/ir/builder.h>
#include <tessera/dsl/ir/fold.h>
#include <tessera/dsl/ir/typing.h>

namespace tessera::ir {

void Builder::need_dtype(OpCode code, Value a) const {
  if (std::optional<Refusal> refusal = refuse_operand(code, type(a))) {
    throw UserError(loc_, fmt::format("'{}' takes {}, not {}", info(code).name, refusal->wanted, to_string(type(a))),
                    refusal->remedy);
  }
}

Type Builder::elementwise_type(OpCode code, Value a, Value b, DType result) const {
  const Type& ta = type(a);
  const Type& tb = type(b);
  for (const Dim& d : ta.dims) {
    const Dim* other = tb.find(d.axis);
    if (other && other->extent != d.extent) {
      throw UserError(loc_,
                      fmt::format("operands of '{}' have different extents along {}: {} and {}", info(code).name,
                                  d.axis.name(), to_string(ta), to_string(tb)),
                      "use tiles of the same size");
    }
  }
  return Type::tile(result, broadcast_dims(ta.dims, tb.dims));
}

std::optional<Value> Builder::folded(OpCode code, Value a, Value b, DType result) {
  const Type& ta = type(a);
  if (!ta.is_scalar() || !type(b).is_scalar() || is_float(ta.dtype)) return std::nullopt;
  std::optional<double> ca = constant_of(a), cb = constant_of(b);
  if (ca && cb) {
    double operands[] = {*ca, *cb};
    if (std::optional<double> number = fold(code, ta.dtype, result, operands)) return scalar_constant(*number, result);
  }
  switch (code) {
    case OpCode::add:
      if (ca == 0.0) return b;
      if (cb == 0.0) return a;
      break;
    case OpCode::sub:
      if (cb == 0.0) return a;
      break;
    case OpCode::mul:
      if (ca == 1.0) return b;
      if (cb == 1.0) return a;
      if (ca == 0.0) return a;
      if (cb == 0.0) return b;
      break;
    case OpCode::div:
      if (cb == 1.0) return a;
      break;
    case OpCode::min:
    case OpCode::max:
      if (a == b) return a;
      break;
    case OpCode::logical_and:
      if (ca) return *ca != 0 ? b : a;
      if (cb) return *cb != 0 ? a : b;
      break;
    case OpCode::logical_or:
      if (ca) return *ca != 0 ? a : b;
      if (cb) return *cb != 0 ? b : a;
      break;
    default: break;
  }
  return std::nullopt;
}

Value Builder::unary(OpCode code, Value a) {
  need_dtype(code, a);
  const Type& t = type(a);
  if (std::optional<double> number = constant_of(a); number && !is_float(t.dtype)) {
    if (auto result = fold(code, t.dtype, t.dtype, {&*number, 1})) return scalar_constant(*result, t.dtype);
  }
  return append_value(code, {a}, Type::tile(t.dtype, t.dims));
}

Value Builder::binary(OpCode code, Value a, Value b) {
  need_dtype(code, a);
  need_dtype(code, b);
  if (type(a).dtype != type(b).dtype) {
    throw UserError(loc_,
                    fmt::format("operands of '{}' have different dtypes: {} and {}", info(code).name,
                                to_string(type(a)), to_string(type(b))),
                    "cast one of them");
  }
  DType result = info(code).kind == OpKind::compare ? DType::i1 : type(a).dtype;
  if (std::optional<Value> value = folded(code, a, b, result)) return *value;
  return append_value(code, {a, b}, elementwise_type(code, a, b, result));
}

Value Builder::add(Value a, int b) { return b == 0 ? a : add(a, constant(b)); }
Value Builder::mul(Value a, int b) { return b == 1 ? a : mul(a, constant(b)); }
Value Builder::div(Value a, int b) { return b == 1 ? a : binary(OpCode::div, a, constant(b)); }

Value Builder::select(Value condition, Value a, Value b) {
  if (type(condition).dtype != DType::i1) {
    throw UserError(loc_, fmt::format("the condition of 'select' is {}, not i1", to_string(type(condition))),
                    "compare it with something first");
  }
  need_dtype(OpCode::select, a);
  need_dtype(OpCode::select, b);
  if (type(a).dtype != type(b).dtype) {
    throw UserError(
        loc_,
        fmt::format("the values of 'select' have different dtypes: {} and {}", to_string(type(a)), to_string(type(b))),
        "cast one of them");
  }
  std::optional<double> chosen = constant_of(condition);
  if (chosen && type(a).dims == type(b).dims) return *chosen != 0 ? a : b;
  elementwise_type(OpCode::select, condition, b, type(a).dtype);
  Type result = elementwise_type(OpCode::select, condition, a, type(a).dtype);
  elementwise_type(OpCode::select, a, b, type(a).dtype);
  result.dims = broadcast_dims(result.dims, type(b).dims);
  return append_value(OpCode::select, {condition, a, b}, std::move(result));
}

Value Builder::fma(Value a, Value b, Value c) {
  for (Value v : {a, b, c}) need_dtype(OpCode::fma, v);
  if (type(a).dtype != type(b).dtype || type(a).dtype != type(c).dtype) {
    throw UserError(loc_,
                    fmt::format("operands of 'fma' have different dtypes: {}, {} and {}", to_string(type(a)),
                                to_string(type(b)), to_string(type(c))),
                    "cast them to one");
  }
  Type result = elementwise_type(OpCode::fma, a, b, type(a).dtype);
  elementwise_type(OpCode::fma, b, c, type(a).dtype);
  elementwise_type(OpCode::fma, a, c, type(a).dtype);
  result.dims = broadcast_dims(result.dims, type(c).dims);
  return append_value(OpCode::fma, {a, b, c}, std::move(result));
}

Value Builder::cast(Value a, DType to) {
  need_dtype(OpCode::cast, a);
  const Type& t = type(a);
  if (t.dtype == to) return a;
  if (to == DType::i1) {
    throw UserError(loc_, fmt::format("{} is cast to i1", to_string(t)), "compare it with 0 instead");
  }
  return append_value(OpCode::cast, {a}, Type::tile(to, t.dims));
}

Value Builder::broadcast(Value a, std::vector<Dim> dims) {
  const Type& t = type(a);
  Type result = Type::tile(t.dtype, std::move(dims));
  for (const Dim& d : t.dims) {
    const Dim* other = result.find(d.axis);
    if (!other || other->extent != d.extent) {
      throw UserError(loc_, fmt::format("{} does not broadcast to {}", to_string(t), to_string(result)),
                      "the result must have every axis of the operand");
    }
  }
  if (result.dims.size() == t.dims.size()) return a;
  return append_value(OpCode::broadcast, {a}, std::move(result));
}

Value Builder::reduce(OpCode code, Value a, Axis axis) {
  need_dtype(code, a);
  const Type& t = type(a);
  if (!t.has(axis)) {
    throw UserError(
        loc_, fmt::format("'{}' along {} of {}, which lacks that axis", info(code).name, axis.name(), to_string(t)),
        "name an axis that the operand has");
  }
  Type result = Type::tile(t.dtype, t.dims);
  std::erase_if(result.dims, [&](const Dim& d) { return d.axis == axis; });
  Op& op = append(code, {a}, {std::move(result)});
  op.axis = axis;
  return op.results[0];
}

Value Builder::dot(Value a, Value b, Value c) {
  const Type& ta = type(a);
  const Type& tb = type(b);
  if (ta.dtype != tb.dtype || !is_float(ta.dtype)) {
    throw UserError(
        loc_, fmt::format("operands of 'dot' have dtypes it cannot multiply: {} and {}", to_string(ta), to_string(tb)),
        "cast both to one float type");
  }
  std::vector<Axis> shared = shared_axes(ta, tb);
  if (shared.size() != 1) {
    std::string axes = shared.empty() ? "" : fmt::format(" ({})", names_of(shared));
    throw UserError(loc_,
                    fmt::format("operands of 'dot' share {} axes{}, must share exactly one: {} and {}", shared.size(),
                                axes, to_string(ta), to_string(tb)),
                    "contract one axis at a time");
  }
  Axis axis = shared[0];
  Type result = elementwise_type(OpCode::dot, a, b, DType::f32);
  std::erase_if(result.dims, [&](const Dim& d) { return d.axis == axis; });
  std::vector<Value> operands = {a, b};
  if (c) {
    const Type& tc = type(c);
    if (tc.dtype != DType::f32 || !same_dims(tc.dims, result.dims)) {
      throw UserError(loc_, fmt::format("'dot' adds {} to a product of type {}", to_string(tc), to_string(result)),
                      "broadcast or cast the summand");
    }
    operands.push_back(c);
  }
  Op& op = append(OpCode::dot, std::move(operands), {std::move(result)});
  op.axis = axis;
  return op.results[0];
}

}  // namespace tessera::ir
