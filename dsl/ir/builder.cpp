#include <tessera/dsl/ir/builder.h>

#include <algorithm>

#include <fmt/format.h>

#include <tessera/dsl/ir/fold.h>

namespace tessera::ir {

namespace {
const Op* find_definition(const Block& block, Value v) {
  for (auto it = block.ops.rbegin(); it != block.ops.rend(); ++it) {
    if (std::find(it->results.begin(), it->results.end(), v) != it->results.end()) return &*it;
  }
  return nullptr;
}
}  // namespace

std::optional<double> Builder::constant_of(Value v) const {
  for (const Builder* b = this; b; b = b->outer_) {
    const Op* op = find_definition(*b->block_, v);
    if (op && op->code == OpCode::constant && type(v).is_scalar()) return op->number;
    if (op) return std::nullopt;
  }
  return std::nullopt;
}

Op& Builder::push(Op op) {
  if (!op.loc) op.loc = loc_;
  block_->ops.push_back(std::move(op));
  return block_->ops.back();
}

Op& Builder::append(OpCode code, std::vector<Value> operands, std::vector<Type> results) {
  Op op{.code = code, .operands = std::move(operands)};
  for (Type& t : results) op.results.push_back(graph_->add_value(std::move(t)));
  return push(std::move(op));
}

Value Builder::append_value(OpCode code, std::vector<Value> operands, Type result) {
  return append(code, std::move(operands), {std::move(result)}).results[0];
}

Value Builder::scalar_constant(double number, DType t) {
  for (const Builder* b = this; b; b = b->outer_) {
    for (const Op& op : b->block_->ops) {
      if (op.code != OpCode::constant || op.number != number) continue;
      const Type& have = type(op.results[0]);
      if (have.is_scalar() && have.dtype == t) return op.results[0];
    }
  }
  Op& op = append(OpCode::constant, {}, {Type::scalar(t)});
  op.number = number;
  return op.results[0];
}

Value Builder::constant(double number, Type t) {
  if (t.is_scalar() && !is_float(t.dtype)) return scalar_constant(number, t.dtype);
  Op& op = append(OpCode::constant, {}, {std::move(t)});
  op.number = number;
  return op.results[0];
}

Value Builder::iota(Dim dim) {
  Op& op = append(OpCode::iota, {}, {Type::tile(DType::i32, {dim})});
  op.axis = dim.axis;
  return op.results[0];
}

Value Builder::program_id(Axis axis) {
  Op& op = append(OpCode::program_id, {}, {Type::scalar(DType::i32)});
  op.axis = axis;
  return op.results[0];
}

Value Builder::length(Axis axis) {
  Op& op = append(OpCode::length, {}, {Type::scalar(DType::i32)});
  op.axis = axis;
  return op.results[0];
}

Value Builder::scalar(int param, DType dtype) {
  Op& op = append(OpCode::scalar, {}, {Type::scalar(dtype)});
  op.index = param;
  return op.results[0];
}

Value Builder::position(Dim dim, Value tile) {
  std::vector<Value> operands;
  if (tile) operands.push_back(tile);
  Op& op = append(OpCode::position, std::move(operands), {Type::tile(DType::i32, {dim})});
  op.axis = dim.axis;
  return op.results[0];
}

Value Builder::position_digits(Dim dim, Value tile, std::size_t from, std::size_t to) {
  Op& op = append(OpCode::position, {tile}, {Type::tile(DType::i32, {dim})});
  op.axis = dim.axis;
  op.index = static_cast<int>(from);
  op.number = static_cast<double>(to);
  return op.results[0];
}

Value Builder::tile_at(Axis axis, int number, std::span<const Value> firsts) {
  std::vector<Value> operands(firsts.begin(), firsts.end());
  operands.push_back(constant(0));
  Op& op =
      append(OpCode::tile_at, std::move(operands), {{.kind = TypeKind::index, .dtype = DType::i32, .dims = {{axis}}}});
  op.axis = axis;
  op.index = number;
  return op.results[0];
}

Value Builder::exists(Dim dim, Value tile, Value end) {
  std::vector<Value> operands{tile};
  if (end) operands.push_back(end);
  Op& op = append(OpCode::exists, std::move(operands), {Type::tile(DType::i1, {dim})});
  op.axis = dim.axis;
  return op.results[0];
}

Value Builder::allowed(int function, Dim query, Dim key, Value tile) {
  Op& op = append(OpCode::allowed, {tile}, {Type::tile(DType::i1, {query, key})});
  op.index = function;
  return op.results[0];
}

Value Builder::apply(int function, Value tile, std::span<const Value> values) {
  if (values.empty()) throw UserError(loc_, "a score function is applied to nothing", "give it the scores");
  std::vector<Value> operands = {tile};
  operands.insert(operands.end(), values.begin(), values.end());
  Op& op = append(OpCode::apply, std::move(operands), {type(values[0])});
  op.index = function;
  return op.results[0];
}

Value Builder::load(int param, Type t, std::span<const Value> coordinates, Axis bounded) {
  Op& op = append(OpCode::load, {coordinates.begin(), coordinates.end()}, {std::move(t)});
  op.index = param;
  op.axis = bounded;
  return op.results[0];
}

void Builder::store(int param, Value value, std::span<const Value> coordinates) {
  std::vector<Value> operands = {value};
  operands.insert(operands.end(), coordinates.begin(), coordinates.end());
  append(OpCode::store, std::move(operands)).index = param;
}

Value Builder::gather(int param, DType dtype, std::span<const Value> indices) {
  Type result = Type::scalar(dtype);
  for (Value index : indices) {
    if (type(index).dtype != DType::i32) {
      throw UserError(loc_, fmt::format("a table is indexed by {}", to_string(type(index))), "cast the index to i32");
    }
    result.dims = broadcast_dims(result.dims, type(index).dims);
  }
  Op& op = append(OpCode::gather, {indices.begin(), indices.end()}, {std::move(result)});
  op.index = param;
  return op.results[0];
}

}  // namespace tessera::ir
