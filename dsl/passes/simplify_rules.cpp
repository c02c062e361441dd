#include <algorithm>
#include <cmath>

#include <tessera/dsl/ir/fold.h>
#include <tessera/dsl/ir/typing.h>
#include <tessera/dsl/passes/simplify_internal.h>

namespace tessera::passes::detail {

using ir::Op;
using ir::OpCode;
using ir::OpKind;
using ir::Type;
using ir::Value;

std::optional<double> Emitter::number(Value v) const {
  const Op* op = definition(v);
  return op && op->code == OpCode::constant ? std::optional(op->number) : std::nullopt;
}

std::optional<Value> Emitter::fit(Value v, const Type& wanted) {
  const Type& have = type(v);
  if (have.dtype != wanted.dtype) return std::nullopt;
  if (ir::same_dims(have.dims, wanted.dims)) return v;
  for (const ir::Dim& d : have.dims) {
    if (!wanted.has(d.axis)) return std::nullopt;
  }
  return emit(OpCode::broadcast, {v}, wanted);
}

namespace {

// Bit for bit: min and max of floats may give either of 0 and -0.
bool is_commutative(OpCode code, DType dtype) {
  switch (code) {
    case OpCode::min:
    case OpCode::max: return !is_float(dtype);
    case OpCode::add:
    case OpCode::mul:
    case OpCode::logical_and:
    case OpCode::logical_or:
    case OpCode::eq:
    case OpCode::ne: return true;
    default: return false;
  }
}

std::vector<Value> narrow(Emitter& out, const std::vector<Value>& operands) {
  std::vector<Value> narrowed = operands;
  for (Value& v : narrowed) {
    const Op* def = out.definition(v);
    if (!def || out.type(v).is_scalar()) continue;
    if (def->code == OpCode::broadcast) v = def->operands[0];
    if (def->code == OpCode::constant) v = out.constant(def->number, Type::scalar(out.type(v).dtype));
  }
  return narrowed;
}

// Broadcasts and constant tiles as operands shrink to what broadcasting by name needs. Where all operands lack an axis
// of the result, the op is done without it and its result is broadcast.
std::optional<Value> narrow_operands(Emitter& out, Op& op, const Type& type) {
  op.operands = narrow(out, op.operands);
  Type narrowed = type;
  std::erase_if(narrowed.dims, [&](const ir::Dim& d) {
    return std::none_of(op.operands.begin(), op.operands.end(), [&](Value v) { return out.type(v).has(d.axis); });
  });
  if (narrowed.dims.size() == type.dims.size()) return std::nullopt;
  return out.emit(OpCode::broadcast, {out.emit(op, narrowed)}, type);
}

std::optional<Value> fold_constants(Emitter& out, const Op& op, const Type& type) {
  std::vector<double> numbers;
  for (Value v : op.operands) {
    std::optional<double> number = out.number(v);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  std::optional<double> result = ir::fold(op.code, out.type(op.operands.back()).dtype, type.dtype, numbers);
  return result ? std::optional(out.constant(*result, type)) : std::nullopt;
}

std::optional<Value> simplify_not(Emitter& out, const Op& op, const Type& type) {
  const Op* inner = out.definition(op.operands[0]);
  if (!inner) return std::nullopt;
  if (inner->code == OpCode::logical_not) return out.fit(inner->operands[0], type);
  if (info(inner->code).kind != OpKind::compare) return std::nullopt;
  bool ordered = out.type(inner->operands[0]).dtype == DType::i32;
  std::vector<Value> operands = inner->operands;
  switch (inner->code) {
    case OpCode::eq: return out.emit(OpCode::ne, operands, type);
    case OpCode::ne: return out.emit(OpCode::eq, operands, type);
    case OpCode::lt: return ordered ? std::optional(out.emit(OpCode::ge, operands, type)) : std::nullopt;
    case OpCode::le: return ordered ? std::optional(out.emit(OpCode::gt, operands, type)) : std::nullopt;
    case OpCode::gt: return ordered ? std::optional(out.emit(OpCode::le, operands, type)) : std::nullopt;
    case OpCode::ge: return ordered ? std::optional(out.emit(OpCode::lt, operands, type)) : std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<Value> simplify_unary(Emitter& out, const Op& op, const Type& type) {
  Value a = op.operands[0];
  const Op* inner = out.definition(a);
  switch (op.code) {
    case OpCode::logical_not: return simplify_not(out, op, type);
    case OpCode::neg:
      if (inner && inner->code == OpCode::neg) return out.fit(inner->operands[0], type);
      return std::nullopt;
    case OpCode::abs:
    case OpCode::floor: return inner && inner->code == op.code ? std::optional(a) : std::nullopt;
    case OpCode::cast: {
      if (out.type(a).dtype == type.dtype) return a;
      bool widened = inner && inner->code == OpCode::cast && out.type(a).dtype == DType::f32;
      if (widened && is_float(type.dtype) && out.type(inner->operands[0]).dtype == type.dtype) {
        return out.fit(inner->operands[0], type);
      }
      return std::nullopt;
    }
    default: return std::nullopt;
  }
}

// Identities of + - * / min max that hold for every float, with the constant, if any, on the right.
std::optional<Value> simplify_float(Emitter& out, const Op& op, const Type& type) {
  Value a = op.operands[0], b = op.operands[1];
  const Op* right = out.definition(b);
  std::optional<double> number = out.number(b);
  bool negated = right && right->code == OpCode::neg;
  switch (op.code) {
    case OpCode::add:
      if (negated) return out.emit(OpCode::sub, {a, right->operands[0]}, type);
      break;
    case OpCode::sub:
      if (number == 0.0 && !std::signbit(*number)) return out.fit(a, type);
      if (negated) return out.emit(OpCode::add, {a, right->operands[0]}, type);
      break;
    case OpCode::mul:
    case OpCode::div:
      if (number == 1.0) return out.fit(a, type);
      break;
    case OpCode::min:
    case OpCode::max:
      if (a == b) return out.fit(a, type);
      break;
    default: break;
  }
  return std::nullopt;
}

// `condition` with its bound k <= a, if it has one, cut off at the end of an axis: k <= min(a, end - 1). One comparison
// fewer for each element of a partial tile. A length is never negative, so end - 1 does not wrap.
std::optional<Value> cut_off(Emitter& out, Value condition, Value k, Value end) {
  const Op* test = out.definition(condition);
  if (!test) return std::nullopt;
  const Type type = out.type(condition);
  if (test->code == OpCode::le && test->operands[0] == k) {
    const Value last = out.emit(OpCode::add, {end, out.constant(-1, out.type(end))}, out.type(end));
    const Value bound = out.emit(OpCode::min, {test->operands[1], last}, out.type(test->operands[1]));
    return out.emit(OpCode::le, {k, bound}, type);
  }
  if (test->code != OpCode::logical_and) return std::nullopt;
  const std::vector<Value> sides = test->operands;
  for (int i : {0, 1})
    if (std::optional<Value> cut = cut_off(out, sides[i], k, end))
      return out.emit(OpCode::logical_and, {i == 0 ? *cut : sides[0], i == 0 ? sides[1] : *cut}, type);
  return std::nullopt;
}

std::optional<Value> simplify_conjunction(Emitter& out, const Op& op, const Type& type) {
  for (int i : {0, 1}) {
    const Op* within = out.definition(op.operands[i]);
    if (!within || within->code != OpCode::lt) continue;
    const Value k = within->operands[0], end = within->operands[1];
    const Op* length = out.definition(end);
    if (!length || length->code != OpCode::length) continue;
    if (std::optional<Value> cut = cut_off(out, op.operands[1 - i], k, end)) return out.fit(*cut, type);
  }
  return std::nullopt;
}

std::optional<Value> simplify_logic(Emitter& out, const Op& op, const Type& type) {
  Value a = op.operands[0], b = op.operands[1];
  bool neutral = op.code == OpCode::logical_and;
  if (a == b) return out.fit(a, type);
  std::optional<double> number = out.number(b);
  if (!number) return neutral ? simplify_conjunction(out, op, type) : std::nullopt;
  if ((*number != 0) == neutral) return out.fit(a, type);
  return out.constant(!neutral, type);
}

std::optional<Value> simplify_compare(Emitter& out, const Op& op, const Type& type) {
  Value a = op.operands[0], b = op.operands[1];
  DType dtype = out.type(a).dtype;
  if (is_float(dtype)) return std::nullopt;
  if (a == b) {
    bool reflexive = op.code == OpCode::eq || op.code == OpCode::le || op.code == OpCode::ge;
    return out.constant(reflexive, type);
  }
  const Op* left = out.definition(a);
  std::optional<double> number = out.number(b);
  bool equality = op.code == OpCode::eq || op.code == OpCode::ne;
  if (!equality || !number) return std::nullopt;
  if (dtype == DType::i1) {
    bool same = (op.code == OpCode::eq) == (*number != 0);
    return same ? out.fit(a, type) : std::optional(out.emit(OpCode::logical_not, {a}, type));
  }
  if (left && left->code == OpCode::add) {
    if (std::optional<double> shift = out.number(left->operands[1])) {
      double rest = ir::wrap(static_cast<std::int64_t>(*number) - static_cast<std::int64_t>(*shift));
      return out.emit(op.code, {left->operands[0], out.constant(rest, out.type(b))}, type);
    }
  }
  return std::nullopt;
}

std::optional<Value> simplify_select(Emitter& out, const Op& op, const Type& type) {
  Value condition = op.operands[0], a = op.operands[1], b = op.operands[2];
  if (std::optional<double> chosen = out.number(condition)) return out.fit(*chosen != 0 ? a : b, type);
  if (a == b) return out.fit(a, type);
  const Op* test = out.definition(condition);
  if (test && test->code == OpCode::logical_not) return out.emit(OpCode::select, {test->operands[0], b, a}, type);
  const Op* yes = out.definition(a);
  const Op* no = out.definition(b);
  if (yes && yes->code == OpCode::select && yes->operands[0] == condition) {
    return out.emit(OpCode::select, {condition, yes->operands[1], b}, type);
  }
  if (no && no->code == OpCode::select && no->operands[0] == condition) {
    return out.emit(OpCode::select, {condition, a, no->operands[2]}, type);
  }
  if (type.dtype == DType::i1) {
    std::optional<double> x = out.number(a), y = out.number(b);
    if (x == 1.0 && y == 0.0) return out.fit(condition, type);
    if (x == 0.0 && y == 1.0) return out.emit(OpCode::logical_not, {condition}, type);
  }
  return std::nullopt;
}

std::optional<Value> simplify_elementwise(Emitter& out, Op& op, const Type& type) {
  if (std::optional<Value> value = fold_constants(out, op, type)) return value;
  if (std::optional<Value> value = narrow_operands(out, op, type)) return value;
  OpKind kind = info(op.code).kind;
  bool binary = kind == OpKind::binary || kind == OpKind::compare;
  if (binary && out.number(op.operands[0]) &&
      (is_commutative(op.code, type.dtype) || ir::mirrored(op.code) != op.code)) {
    std::swap(op.operands[0], op.operands[1]);
    op.code = ir::mirrored(op.code);
  }
  if (kind == OpKind::compare) return simplify_compare(out, op, type);
  if (op.code == OpCode::select) return simplify_select(out, op, type);
  if (op.code == OpCode::logical_and || op.code == OpCode::logical_or) return simplify_logic(out, op, type);
  if (kind == OpKind::unary) return simplify_unary(out, op, type);
  if (kind != OpKind::binary) return std::nullopt;
  return is_float(type.dtype) ? simplify_float(out, op, type) : simplify_integer(out, op, type);
}

// Of a constant tile; an axis without extent may turn out to be empty, where a reduction gives its identity.
std::optional<Value> simplify_reduce(Emitter& out, const Op& op, const Type& type) {
  std::optional<double> number = out.number(op.operands[0]);
  if (!number || out.type(op.operands[0]).extent(op.axis) == 0) return std::nullopt;
  if (op.code == OpCode::reduce_sum && *number != 0) return std::nullopt;
  return out.constant(*number, type);
}

std::optional<Value> simplify_broadcast(Emitter& out, const Op& op, const Type& type) {
  Value a = op.operands[0];
  if (std::optional<double> number = out.number(a)) return out.constant(*number, type);
  if (ir::same_dims(out.type(a).dims, type.dims)) return a;
  const Op* inner = out.definition(a);
  if (inner && inner->code == OpCode::broadcast) return out.emit(OpCode::broadcast, {inner->operands[0]}, type);
  return std::nullopt;
}

}  // namespace

std::optional<Value> simplify_op(Emitter& out, Op& op, const Type& type) {
  if (ir::is_elementwise(op.code)) return simplify_elementwise(out, op, type);
  if (op.code == OpCode::broadcast) return simplify_broadcast(out, op, type);
  if (info(op.code).kind == OpKind::reduce) return simplify_reduce(out, op, type);
  return std::nullopt;
}

}  // namespace tessera::passes::detail
