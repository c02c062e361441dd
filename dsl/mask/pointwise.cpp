#include <tessera/dsl/mask/pointwise.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <tessera/dsl/ir/rewrite.h>
#include <tessera/dsl/mask/expression.h>
#include <tessera/dsl/mask/table_ranges.h>

namespace tessera::mask {

namespace {

// FNV-1a over the shape and the bytes.
std::uint64_t hash_bytes(std::uint64_t hash, const void* data, std::size_t size) {
  const unsigned char* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3ull;
  return hash;
}

std::uint64_t content_hash(DType dtype, const std::vector<std::int64_t>& shape, const void* data, std::size_t size) {
  std::uint64_t hash = hash_bytes(0xcbf29ce484222325ull, &dtype, sizeof dtype);
  hash = hash_bytes(hash, shape.data(), shape.size() * sizeof(std::int64_t));
  return hash_bytes(hash, data, size);
}

void check_shape(std::size_t size, const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (std::int64_t extent : shape) elements *= extent;
  if (shape.empty() || shape.size() > 4)
    throw UserError({}, "a table has " + std::to_string(shape.size()) + " dimensions", "give it 1 to 4");
  if (elements != static_cast<std::int64_t>(size))
    throw UserError({},
                    "a table of " + std::to_string(size) + " elements is given a shape of " + std::to_string(elements),
                    "make the shape's product the number of elements");
}

std::vector<ir::Type> scalars(const ir::Function& function) {
  std::vector<ir::Type> types;
  for (ir::Value v : function.graph.entry.args) types.push_back(function.graph.type(v));
  return types;
}

bool same_capture(const ir::Param& a, const Capture& x, const ir::Param& b, const Capture& y) {
  if (a.kind != b.kind || a.dtype != b.dtype || a.rank != b.rank) return false;
  if (a.kind == ir::ParamKind::scalar) return a.name == b.name;
  if (!x.table || !y.table) return !x.table && !y.table && a.name == b.name;
  return x.table == y.table || (x.table->hash() == y.table->hash() && x.table->shape() == y.table->shape() &&
                                std::memcmp(x.table->data(), y.table->data(), x.table->size() * 4) == 0);
}

// Index in `into` of a parameter that stands for `param`, appended if there is none yet.
int merge_param(Pointwise& into, ir::Param param, const Capture& capture) {
  std::vector<ir::Param>& params = into.function.params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (!same_capture(params[i], into.captures[i], param, capture)) continue;
    if (param.kind == ir::ParamKind::scalar && into.captures[i].value != capture.value)
      throw UserError(into.loc,
                      "scalar '" + param.name + "' has two defaults, " + std::to_string(into.captures[i].value) +
                          " and " + std::to_string(capture.value),
                      "give the two scalars different names");
    return static_cast<int>(i);
  }
  const std::string name = param.name;
  const auto taken = [&](const std::string& n) {
    return std::any_of(params.begin(), params.end(), [&](const ir::Param& p) { return p.name == n; });
  };
  if (taken(name) && !capture.table)
    throw UserError(into.loc, "two different parameters are named '" + name + "'",
                    "values that are given at the call need different names");
  for (int n = 2; taken(param.name); ++n) param.name = name + "_" + std::to_string(n);
  params.push_back(param);
  into.captures.push_back(capture);
  return static_cast<int>(params.size()) - 1;
}

// `from` with its parameters among those of `into`.
ir::Function adopt(Pointwise& into, const Pointwise& from) {
  ir::Function function = from.function;
  into.lengths.insert(into.lengths.end(), from.lengths.begin(), from.lengths.end());
  std::vector<int> map;
  for (std::size_t i = 0; i < function.params.size(); ++i)
    map.push_back(merge_param(into, function.params[i], from.captures[i]));
  for (ir::Op& op : function.graph.entry.ops)
    if (op.code == ir::OpCode::gather || op.code == ir::OpCode::scalar) op.index = map[op.index];
  return function;
}

using Combine = ir::Value (*)(ir::Builder&, ir::Value, ir::Value);

Pointwise combined(const Pointwise& a, const Pointwise* b, Combine combine) {
  Pointwise out;
  out.loc = a.loc;
  out.function.name = b ? a.function.name + "_" + b->function.name : a.function.name;
  const ir::Function left = adopt(out, a);
  std::vector<ir::Value> args;
  for (std::size_t i = 0; i < left.graph.entry.args.size(); ++i) {
    const ir::Value v = left.graph.entry.args[i];
    args.push_back(out.function.graph.add_value(left.graph.type(v), left.graph.name_of(v)));
  }
  out.function.graph.entry.args = args;
  ir::Builder builder(out.function.graph, out.function.graph.entry, a.loc);
  const ir::Value x = ir::inline_function(left, args, 0, builder);
  ir::Value y{};
  if (b) {
    const ir::Function right = adopt(out, *b);
    ensure(scalars(right) == scalars(left), "masks have the same arguments");
    y = ir::inline_function(right, args, 0, builder);
  }
  const ir::Value result = combine(builder, x, y);
  builder.yield({&result, 1});
  return out;
}

}  // namespace

TableData::TableData() = default;

std::shared_ptr<const TableData> TableData::make(std::vector<std::int32_t> values, std::vector<std::int64_t> shape) {
  check_shape(values.size(), shape);
  std::shared_ptr<TableData> table(new TableData);
  table->dtype_ = DType::i32;
  table->shape_ = std::move(shape);
  table->integers_ = std::move(values);
  table->hash_ = content_hash(table->dtype_, table->shape_, table->data(), table->integers_.size() * 4);
  return table;
}

std::shared_ptr<const TableData> TableData::make(std::vector<float> values, std::vector<std::int64_t> shape) {
  check_shape(values.size(), shape);
  std::shared_ptr<TableData> table(new TableData);
  table->dtype_ = DType::f32;
  table->shape_ = std::move(shape);
  table->floats_ = std::move(values);
  table->hash_ = content_hash(table->dtype_, table->shape_, table->data(), table->floats_.size() * 4);
  return table;
}

const void* TableData::data() const {
  return dtype_ == DType::i32 ? static_cast<const void*>(integers_.data()) : static_cast<const void*>(floats_.data());
}

double TableData::at(const std::vector<std::int64_t>& index) const {
  ensure(index.size() == shape_.size(), "a table is read with one index a dimension");
  if (size() == 0) return 0;
  std::int64_t flat = 0;
  for (std::size_t d = 0; d < index.size(); ++d)
    flat = flat * shape_[d] + std::clamp<std::int64_t>(index[d], 0, shape_[d] - 1);
  return element(flat);
}

const TableRanges& TableData::ranges() const {
  std::call_once(ranges_once_, [this] { ranges_ = std::make_shared<const TableRanges>(*this); });
  return *ranges_;
}

bool Pointwise::data_at_call() const {
  for (std::size_t i = 0; i < captures.size(); ++i)
    if (function.params[i].kind == ir::ParamKind::table && !captures[i].table) return true;
  return false;
}

Pointwise both(const Pointwise& a, const Pointwise& b) {
  return combined(
      a, &b, [](ir::Builder& into, ir::Value x, ir::Value y) { return into.binary(ir::OpCode::logical_and, x, y); });
}
Pointwise either(const Pointwise& a, const Pointwise& b) {
  return combined(
      a, &b, [](ir::Builder& into, ir::Value x, ir::Value y) { return into.binary(ir::OpCode::logical_or, x, y); });
}
Pointwise negated(const Pointwise& a) {
  return combined(a, nullptr,
                  [](ir::Builder& into, ir::Value x, ir::Value) { return into.unary(ir::OpCode::logical_not, x); });
}

Pointwise everything() {
  Pointwise out;
  out.function.name = "everything";
  ir::Graph& graph = out.function.graph;
  for (const char* name : {"q", "k", "head", "batch", "query_length", "key_length"})
    graph.entry.args.push_back(graph.add_value(ir::Type::scalar(DType::i32), name));
  ir::Builder builder(graph, graph.entry);
  const ir::Value yes = builder.constant(1, ir::Type::scalar(DType::i1));
  builder.yield({&yes, 1});
  return out;
}

void check_lengths(const Pointwise& predicate, std::int64_t queries, std::int64_t keys, SourceLoc loc) {
  const auto check = [&](const LengthRule& rule, const Extent& extent, const char* things, std::int64_t have) {
    if (have >= extent.least && have <= extent.most) return;
    const std::int64_t wanted = have < extent.least ? extent.least : extent.most;
    const char* kind = extent.least == extent.most ? "" : have < extent.least ? "at least " : "at most ";
    throw UserError(loc, fmt::format("{} takes {}{} {}, and there are {}", rule.of, kind, wanted, things, have),
                    fmt::format("give {}{} {}, or make the mask for {}", kind, wanted, things, have));
  };
  for (const LengthRule& rule : predicate.lengths) {
    check(rule, rule.queries, "queries", queries);
    check(rule, rule.keys, "keys", keys);
  }
}

bool allows(const Pointwise& predicate, const Point& point, const std::vector<NamedScalar>& scalars) {
  Expressions expressions(predicate, scalars);
  const Expressions::Id root = expressions.body({}, true);
  return PointProgram(expressions, root)
      .test({point.q, point.k, point.head, point.batch, point.query_length, point.key_length, 0, 0, 0});
}

}  // namespace tessera::mask
