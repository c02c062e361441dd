#include <tessera/dsl/mask/expression.h>

#include <bit>
#include <tuple>

#include <fmt/format.h>

#include <tessera/dsl/ir/fold.h>

namespace tessera::mask {

using ir::OpCode;

// Numbers by their bits: 0 and -0 are two, and a NaN is itself.
bool operator<(const Expressions::Node& a, const Expressions::Node& b) {
  const auto x = std::bit_cast<std::uint64_t>(a.number), y = std::bit_cast<std::uint64_t>(b.number);
  return std::tie(a.op, a.dtype, a.in, a.index, x) < std::tie(b.op, b.dtype, b.in, b.index, y);
}

Expressions::Expressions(const Pointwise& source, const std::vector<NamedScalar>& scalars) : source_(source) {
  limits_.fill(static_cast<double>(kMaxIndex));
  const std::vector<ir::Param>& params = source.function.params;
  ensure(params.size() == source.captures.size(), "a pointwise function has one capture a parameter");
  for (std::size_t i = 0; i < params.size(); ++i) {
    double value = source.captures[i].value;
    for (const NamedScalar& scalar : scalars)
      if (params[i].kind == ir::ParamKind::scalar && scalar.name == params[i].name) value = scalar.value;
    scalars_.push_back(value);
  }
}

void Expressions::limit(Int most) {
  limits_.fill(static_cast<double>(most));
  scalar_limit_ = static_cast<double>(most);
}

const TableData* Expressions::table(int parameter) const { return source_.captures[parameter].table.get(); }
double Expressions::scalar(int parameter) const { return scalars_[parameter]; }

Expressions::Id Expressions::intern(Node node) {
  auto [it, added] = index_.try_emplace(node, size());
  if (!added) return it->second;
  if (node.op == OpCode::position) node.depends = on(node.index);
  if (node.op == OpCode::scalar) node.depends = on(kPositionCount);
  if (node.op == OpCode::gather) node.depends = on(kPositionCount + 1);
  Range in[4];
  for (int i = 0; i < 4; ++i) {
    if (node.in[i] < 0) continue;
    node.depends |= nodes_[node.in[i]].depends;
    in[i] = known_[node.in[i]];
  }
  known_.push_back(range_of(node, in, nullptr));
  nodes_.push_back(node);
  return it->second;
}

Expressions::Id Expressions::constant(double number, DType dtype) {
  return intern({.op = OpCode::constant, .dtype = dtype, .number = number});
}
Expressions::Id Expressions::position(int which) { return intern({.op = OpCode::position, .index = which}); }

Expressions::Id Expressions::make(OpCode op, DType dtype, std::array<Id, 4> in, int index) {
  const Node node{.op = op, .dtype = dtype, .in = in, .index = index};
  const Id folded = fold(node);
  return folded >= 0 ? folded : intern(node);
}

namespace {

// Devices may round the last bit of the result otherwise: they approximate, or contract to a fused multiply-add.
bool rounds(OpCode op, DType result) {
  if (result != DType::f32) return false;
  switch (op) {
    case OpCode::neg:
    case OpCode::abs:
    case OpCode::min:
    case OpCode::max:
    case OpCode::floor:
    case OpCode::select:
    case OpCode::cast: return false;
    default: return true;
  }
}

}  // namespace

// The node that `node` is equal to for all inputs, or -1. Floats fold only when all operands are constants, and only
// operations that give every device the same number.
Expressions::Id Expressions::fold(const Node& node) {
  const auto [a, b, c, d] = node.in;
  if (node.op == OpCode::gather) {
    const TableData* data = table(node.index);
    std::vector<std::int64_t> at;
    for (Id i : node.in) {
      if (i < 0) break;
      if (!data || !is_constant(i)) return -1;
      at.push_back(value(i));
    }
    return constant(data->at(at), node.dtype);
  }
  if (a < 0) return -1;
  bool constants = true;
  for (Id i : node.in) constants &= i < 0 || is_constant(i);
  if (constants) {
    if (rounds(node.op, node.dtype)) return -1;
    const auto number = [&](Id i) { return i < 0 ? 0 : nodes_[i].number; };
    return constant(ir::evaluate(node.op, nodes_[a].dtype, node.dtype, number(a), number(b), number(c)), node.dtype);
  }
  const auto is = [&](Id i, double number) { return is_constant(i) && nodes_[i].number == number; };
  switch (node.op) {
    case OpCode::cast: return nodes_[a].dtype == node.dtype ? a : -1;
    case OpCode::select: return is_constant(a) ? (value(a) ? b : c) : b == c ? b : -1;
    case OpCode::logical_not: return nodes_[a].op == OpCode::logical_not ? nodes_[a].in[0] : -1;
    case OpCode::logical_and: return is(a, 0) || is(b, 1) || a == b ? a : is(b, 0) || is(a, 1) ? b : -1;
    case OpCode::logical_or: return is(a, 1) || is(b, 0) || a == b ? a : is(b, 1) || is(a, 0) ? b : -1;
    default: break;
  }
  if (nodes_[a].dtype == DType::f32 || b < 0) return -1;
  const Range x = known_[a], y = known_[b];
  switch (node.op) {
    case OpCode::add: return is(a, 0) ? b : is(b, 0) ? a : -1;
    case OpCode::sub: return is(b, 0) ? a : a == b ? constant(0) : -1;
    case OpCode::mul: return is(a, 0) || is(b, 1) ? a : is(b, 0) || is(a, 1) ? b : -1;
    case OpCode::div: return is(b, 1) ? a : -1;
    case OpCode::min: return a == b || x.hi <= y.lo ? a : y.hi <= x.lo ? b : -1;
    case OpCode::max: return a == b || x.lo >= y.hi ? a : y.lo >= x.hi ? b : -1;
    case OpCode::lt: return a == b || x.lo >= y.hi ? constant(0, DType::i1) : x.hi < y.lo ? constant(1, DType::i1) : -1;
    case OpCode::le: return a == b || x.hi <= y.lo ? constant(1, DType::i1) : x.lo > y.hi ? constant(0, DType::i1) : -1;
    case OpCode::gt: return fold({.op = OpCode::lt, .dtype = DType::i1, .in = {b, a, -1, -1}});
    case OpCode::ge: return fold({.op = OpCode::le, .dtype = DType::i1, .in = {b, a, -1, -1}});
    case OpCode::eq: return a == b ? constant(1, DType::i1) : x.hi < y.lo || y.hi < x.lo ? constant(0, DType::i1) : -1;
    case OpCode::ne: return a == b ? constant(0, DType::i1) : x.hi < y.lo || y.hi < x.lo ? constant(1, DType::i1) : -1;
    default: return -1;
  }
}

Expressions::Id Expressions::body(const PositionValues& bound, bool bind_scalars) {
  const ir::Function& function = source_.function;
  std::vector<Id> map(function.graph.values.size(), -1);
  for (int i = 0; i < ir::Function::kPositions; ++i)
    map[function.graph.entry.args[i].id] = bound[i] ? constant(static_cast<double>(*bound[i])) : position(i);
  for (const ir::Op& op : function.graph.entry.ops) {
    if (op.code == OpCode::yield) return map[op.operands.at(0).id];
    const DType dtype = function.graph.type(op.results.at(0)).dtype;
    Id& id = map[op.results[0].id];
    if (op.code == OpCode::constant) {
      id = constant(op.number, dtype);
    } else if (op.code == OpCode::scalar) {
      id = bind_scalars ? constant(scalars_[op.index], dtype)
                        : intern({.op = op.code, .dtype = dtype, .index = op.index});
    } else {
      ensure(op.operands.size() <= 4 && (op.code == OpCode::gather || ir::is_elementwise(op.code)),
             "an op that scalar functions do not have");
      std::array<Id, 4> in{-1, -1, -1, -1};
      for (std::size_t i = 0; i < op.operands.size(); ++i) in[i] = map[op.operands[i].id];
      id = make(op.code, dtype, in, op.code == OpCode::gather ? op.index : -1);
    }
  }
  throw InternalError("a scalar function without a yield");
}

std::string Expressions::describe(Id id) const {
  const Node& n = nodes_[id];
  const auto sub = [&](int i) {
    const Node& in = nodes_[n.in[i]];
    const bool leaf =
        in.in[0] < 0 || in.op == OpCode::gather || in.op == OpCode::min || in.op == OpCode::max || in.op == OpCode::abs;
    return leaf ? describe(n.in[i]) : fmt::format("({})", describe(n.in[i]));
  };
  const auto infix = [&](const char* sign) { return fmt::format("{} {} {}", sub(0), sign, sub(1)); };
  const auto operands = [&] {
    std::vector<std::string> in;
    for (int i = 0; i < 4 && n.in[i] >= 0; ++i) in.push_back(describe(n.in[i]));
    return fmt::format("{}", fmt::join(in, ", "));
  };
  switch (n.op) {
    case OpCode::constant: return fmt::format("{}", n.number);
    case OpCode::position: {
      static constexpr const char* kNames[] = {"q",          "k",     "head", "batch",    "query_length",
                                               "key_length", "first", "last", "key_bound"};
      if (n.index < at_inner_digits) return kNames[n.index];
      return fmt::format("digit_{}", n.index - at_inner_digits);
    }
    case OpCode::scalar: return source_.function.params[n.index].name;
    case OpCode::gather: return fmt::format("{}[{}]", source_.function.params[n.index].name, operands());
    case OpCode::add: return infix("+");
    case OpCode::sub: return infix("-");
    case OpCode::mul: return infix("*");
    case OpCode::div: return infix("/");
    case OpCode::mod: return infix("%");
    case OpCode::lt: return infix("<");
    case OpCode::le: return infix("<=");
    case OpCode::gt: return infix(">");
    case OpCode::ge: return infix(">=");
    case OpCode::eq: return infix("==");
    case OpCode::ne: return infix("!=");
    case OpCode::logical_and: return infix("&");
    case OpCode::logical_or: return infix("|");
    case OpCode::logical_not: return fmt::format("~{}", sub(0));
    case OpCode::neg: return fmt::format("-{}", sub(0));
    case OpCode::select: return fmt::format("where({})", operands());
    default: return fmt::format("{}({})", ir::info(n.op).name, operands());
  }
}

std::vector<ir::Value> Expressions::emit(const std::vector<Id>& roots,
                                         const std::array<ir::Value, kPositionCount>& arguments,
                                         ir::Builder& into) const {
  std::vector<char> needed(nodes_.size(), 0);
  for (Id root : roots) needed[root] = 1;
  for (Id id = size() - 1; id >= 0; --id)
    if (needed[id])
      for (Id in : nodes_[id].in)
        if (in >= 0) needed[in] = 1;
  std::vector<ir::Value> value(nodes_.size());
  for (Id id = 0; id < size(); ++id) {
    if (!needed[id]) continue;
    const Node& n = nodes_[id];
    std::vector<ir::Value> in;
    for (Id i : n.in)
      if (i >= 0) in.push_back(value[i]);
    switch (n.op) {
      case OpCode::constant: value[id] = into.constant(n.number, ir::Type::scalar(n.dtype)); break;
      case OpCode::position: value[id] = arguments[n.index]; break;
      case OpCode::scalar: value[id] = into.scalar(n.index, n.dtype); break;
      case OpCode::gather: value[id] = into.gather(n.index, n.dtype, in); break;
      case OpCode::select: value[id] = into.select(in[0], in[1], in[2]); break;
      case OpCode::cast: value[id] = into.cast(in[0], n.dtype); break;
      default: value[id] = in.size() == 1 ? into.unary(n.op, in[0]) : into.binary(n.op, in[0], in[1]); break;
    }
  }
  std::vector<ir::Value> results;
  for (Id root : roots) results.push_back(value[root]);
  return results;
}

}  // namespace tessera::mask
