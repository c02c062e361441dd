#include <tessera/dsl/ir/rewrite.h>

#include <fmt/format.h>

#include <tessera/dsl/ir/print.h>

namespace tessera::ir {

void walk(const Block& block, const std::function<void(const Op&)>& visit) {
  for (const Op& op : block.ops) {
    visit(op);
    for (const Block& region : op.regions) walk(region, visit);
  }
}

void Rewriter::map(Value from, Value to) {
  if (map_.size() <= from.id) map_.resize(std::max<std::size_t>(from_.values.size(), from.id + 1));
  map_[from.id] = to;
}

bool Rewriter::mapped(Value from) const { return from.id < map_.size() && map_[from.id]; }

Value Rewriter::operator[](Value from) const {
  if (!mapped(from)) {
    throw InternalError(fmt::format("a rewrite uses value {} '{}' before it was mapped", from.id,
                                    from.id < from_.values.size() ? from_.name_of(from) : "?"));
  }
  return map_[from.id];
}

std::vector<Value> Rewriter::operator[](const std::vector<Value>& from) const {
  std::vector<Value> to;
  to.reserve(from.size());
  for (Value v : from) to.push_back((*this)[v]);
  return to;
}

void Rewriter::run() {
  for (Value arg : from_.entry.args) {
    Value mine = to_.add_value(retype(from_.type(arg)), from_.name_of(arg));
    to_.entry.args.push_back(mine);
    map(arg, mine);
  }
  Builder into(to_, to_.entry);
  for (const Op& o : from_.entry.ops) op(o, into);
}

void Rewriter::block(const Block& block, Builder& into) {
  for (const Op& o : block.ops) {
    if (o.code == OpCode::yield && &o == &block.ops.back()) return;
    op(o, into);
  }
}

void Rewriter::op(const Op& op, Builder& into) {
  into.set_loc(op.loc);
  if (callback_ && callback_(*this, op, into)) return;
  copy(op, into);
}

void Rewriter::copy(const Op& op, Builder& into) {
  into.set_loc(op.loc);
  Op out = op;
  out.operands = (*this)[op.operands];
  for (std::size_t i = 0; i < op.regions.size(); ++i) {
    Block region;
    for (Value arg : op.regions[i].args) {
      Value mine = to_.add_value(retype(from_.type(arg)), from_.name_of(arg));
      region.args.push_back(mine);
      map(arg, mine);
    }
    Builder inner = into.inside(region);
    for (const Op& o : op.regions[i].ops) this->op(o, inner);
    out.regions[i] = std::move(region);
  }
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    out.results[i] = to_.add_value(retype(from_.type(op.results[i])), from_.name_of(op.results[i]));
    map(op.results[i], out.results[i]);
  }
  into.push(std::move(out));
}

Kernel like(const Kernel& kernel) {
  Kernel out;
  out.name = kernel.name;
  out.stage = kernel.stage;
  out.grid = kernel.grid;
  out.grid_tiles = kernel.grid_tiles;
  out.orders = kernel.orders;
  out.grid_orders = kernel.grid_orders;
  out.order = kernel.order;
  out.params = kernel.params;
  out.functions = kernel.functions;
  out.whole = kernel.whole;
  out.roles = kernel.roles;
  out.threads = kernel.threads;
  out.blocks = kernel.blocks;
  return out;
}

Value inline_scalar_op(const Function& function, const Op& op, std::span<const Value> operands, int first_param,
                       Builder& into) {
  const Type& type = function.graph.type(op.results.at(0));
  const OpKind kind = info(op.code).kind;
  Value result;
  if (op.code == OpCode::constant) {
    result = into.constant(op.number, type);
  } else if (op.code == OpCode::scalar) {
    result = into.scalar(op.index + first_param, type.dtype);
  } else if (op.code == OpCode::gather) {
    result = into.gather(op.index + first_param, type.dtype, operands);
  } else if (op.code == OpCode::cast) {
    result = into.cast(operands[0], type.dtype);
  } else if (op.code == OpCode::select) {
    result = into.select(operands[0], operands[1], operands[2]);
  } else if (op.code == OpCode::fma) {
    result = into.fma(operands[0], operands[1], operands[2]);
  } else if (kind == OpKind::unary) {
    result = into.unary(op.code, operands[0]);
  } else if (kind == OpKind::binary || kind == OpKind::compare) {
    result = into.binary(op.code, operands[0], operands[1]);
  } else {
    throw InternalError(
        fmt::format("function '{}' has a '{}', which is no scalar op", function.name, info(op.code).name),
        print(function));
  }
  std::string& name = into.graph().values[result.id].name;
  if (name.empty() && !into.constant_of(result)) name = function.graph.name_of(op.results[0]);
  return result;
}

std::vector<Value> inline_results(const Function& function, std::span<const Value> args, int first_param,
                                  Builder& into) {
  const Block& entry = function.graph.entry;
  if (args.size() != entry.args.size()) {
    throw InternalError(
        fmt::format("function '{}' takes {} arguments, given {}", function.name, entry.args.size(), args.size()),
        print(function));
  }
  std::vector<Value> map(function.graph.values.size());
  for (std::size_t i = 0; i < args.size(); ++i) map[entry.args[i].id] = args[i];
  for (const Op& op : entry.ops) {
    std::vector<Value> operands;
    for (Value v : op.operands) operands.push_back(map[v.id]);
    if (op.code == OpCode::yield) return operands;
    map[op.results.at(0).id] = inline_scalar_op(function, op, operands, first_param, into);
  }
  throw InternalError(fmt::format("function '{}' does not yield", function.name), print(function));
}

Value inline_function(const Function& function, std::span<const Value> args, int first_param, Builder& into) {
  std::vector<Value> results = inline_results(function, args, first_param, into);
  ensure(results.size() == 1, "a scalar function that yields one value was expected");
  return results[0];
}

}  // namespace tessera::ir
