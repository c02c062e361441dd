#include <fmt/format.h>

#include <tessera/dsl/ir/builder.h>
#include <tessera/dsl/ir/typing.h>

namespace tessera::ir {

namespace {
bool carries(const Type& carried, const Type& yielded) {
  return carried.kind == yielded.kind && carried.dtype == yielded.dtype && same_dims(carried.dims, yielded.dims);
}

std::string name_at(std::span<const std::string> names, std::size_t i) {
  return i < names.size() ? names[i] : std::string();
}
}  // namespace

Builder Builder::inside(Block& region) const {
  Builder inner(*graph_, region, loc_);
  inner.outer_ = this;
  return inner;
}

Block Builder::region(OpCode code, std::vector<Value> args, std::span<const Value> init,
                      std::span<const std::string> names, const Body& body) {
  Block block{.args = std::move(args), .ops = {}};
  std::size_t own = block.args.size();
  for (std::size_t i = 0; i < init.size(); ++i) {
    block.args.push_back(graph_->add_value(Type(type(init[i])), name_at(names, i)));
  }
  std::vector<Value> given = block.args;
  Builder inner = inside(block);
  std::vector<Value> yielded = body(inner, given);
  if (yielded.size() != init.size()) {
    throw UserError(
        loc_,
        fmt::format("the body of '{}' yields {} values, but carries {}", info(code).name, yielded.size(), init.size()),
        "yield one value for each carried one");
  }
  for (std::size_t i = 0; i < init.size(); ++i) {
    const Type& carried = type(given[own + i]);
    if (carries(carried, type(yielded[i]))) continue;
    std::string name = name_at(names, i);
    throw UserError(
        loc_,
        fmt::format("'{}' carries {} as {}, but its body yields {}", info(code).name,
                    name.empty() ? fmt::format("value {}", i) : name, to_string(carried), to_string(type(yielded[i]))),
        "broadcast or cast one of them");
  }
  inner.yield(yielded);
  return block;
}

std::vector<Value> Builder::region_op(Op op, std::span<const Value> init, std::span<const std::string> names) {
  for (std::size_t i = 0; i < init.size(); ++i) {
    op.results.push_back(graph_->add_value(Type(type(init[i])), name_at(names, i)));
  }
  op.loc = loc_;
  return push(std::move(op)).results;
}

std::vector<Value> Builder::loop(Value lo, Value hi, std::span<const Value> init, std::span<const std::string> names,
                                 const Body& body) {
  for (Value v : {lo, hi}) {
    if (!(type(v).is_scalar() && type(v).dtype == DType::i32)) {
      throw UserError(loc_, fmt::format("a bound of 'loop' is {}, not i32", to_string(type(v))), "cast it to i32");
    }
  }
  Op op{.code = OpCode::loop, .operands = {lo, hi}};
  op.operands.insert(op.operands.end(), init.begin(), init.end());
  op.regions.push_back(region(OpCode::loop, {graph_->add_value(Type::scalar(DType::i32), "i")}, init, names, body));
  return region_op(std::move(op), init, names);
}

std::vector<Value> Builder::over(Axis axis, int function, Value bound, std::span<const Value> init,
                                 std::span<const std::string> names, const Body& body) {
  Op op{.code = OpCode::over, .axis = axis, .index = function};
  if (bound) {
    if (!(type(bound).is_scalar() && type(bound).dtype == DType::i32)) {
      throw UserError(loc_, fmt::format("the bound of 'over' is {}, not i32", to_string(type(bound))),
                      "cast it to i32");
    }
    op.operands.push_back(bound);
  }
  op.operands.insert(op.operands.end(), init.begin(), init.end());
  Type handle{.kind = TypeKind::index, .dtype = DType::i32, .dims = {{axis, 0}}};
  op.regions.push_back(region(OpCode::over, {graph_->add_value(std::move(handle), "t")}, init, names, body));
  return region_op(std::move(op), init, names);
}

std::vector<Value> Builder::when(Value condition, std::span<const Value> init, std::span<const std::string> names,
                                 const Body& body) {
  if (!(type(condition).is_scalar() && type(condition).dtype == DType::i1)) {
    throw UserError(loc_, fmt::format("the condition of 'when' is {}, not a scalar i1", to_string(type(condition))),
                    "reduce it with any or all");
  }
  Op op{.code = OpCode::when, .operands = {condition}};
  op.operands.insert(op.operands.end(), init.begin(), init.end());
  op.regions.push_back(region(OpCode::when, {}, init, names, body));
  return region_op(std::move(op), init, names);
}

std::vector<Value> Builder::programs(std::span<const Value> init, std::span<const std::string> names,
                                     const Body& body) {
  Op op{.code = OpCode::programs, .operands = {init.begin(), init.end()}};
  op.regions.push_back(
      region(OpCode::programs, {graph_->add_value(Type::scalar(DType::i32), "turn")}, init, names, body));
  return region_op(std::move(op), init, names);
}

void Builder::yield(std::span<const Value> values) { append(OpCode::yield, {values.begin(), values.end()}); }

}  // namespace tessera::ir
