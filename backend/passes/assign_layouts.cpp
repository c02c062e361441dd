#include <tessera/backend/passes/assign_layouts.h>

#include <unordered_map>
#include <unordered_set>

#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

using namespace ir;

namespace {

// What the matrix instructions take (wgmma, 16-bit operands).
constexpr int kContractedStep = 16, kColumnStep = 8, kMostColumns = 256;

// How the results of loads are used: by value id.
struct LoadUses {
  std::unordered_set<std::uint32_t> by_dot, by_arithmetic;

  explicit LoadUses(const Kernel& kernel) {
    walk(kernel.entry, [&](const Op& op) {
      for (std::size_t i = 0; i < op.operands.size(); ++i)
        (op.code == OpCode::dot && i < 2 ? by_dot : by_arithmetic).insert(op.operands[i].id);
    });
  }
};

class AssignLayouts {
 public:
  AssignLayouts(const Kernel& from, const LayoutRule& rule)
      : from_(from),
        rule_(rule),
        to_(like(from)),
        uses_(from),
        rewriter_(from_, to_, [this](Rewriter&, const Op& op, Builder& b) { return replace(op, b); }) {
    rewriter_.retype = [this](const Type& t) { return rule_.place(t, loc_); };
  }

  Kernel run() {
    to_.stage = Stage::placed;
    rewriter_.run();
    return std::move(to_);
  }

 private:
  bool replace(const Op& op, Builder& b) {
    loc_ = op.loc;
    if (op.code == OpCode::load) return place_load(op, b), true;
    if (op.code == OpCode::dot) return place_dot(op, b), true;
    return false;
  }

  void place_load(const Op& op, Builder& b) {
    const Value result = op.results[0];
    if (uses_.by_dot.contains(result.id) && from_.params[op.index].axes.size() != 2)
      throw UserError(op.loc,
                      "dot of a tile of '" + from_.params[op.index].name + "', which has " +
                          std::to_string(from_.params[op.index].axes.size()) + " axes beside the grid's",
                      "tiles for products are copied from tensors of two axes");
    if (uses_.by_dot.contains(result.id)) shared_[result.id] = read(op, from_.type(result), b);
    if (uses_.by_arithmetic.contains(result.id))
      rewriter_.map(result, read(op, rule_.place(from_.type(result), op.loc), b));
  }

  Value read(const Op& op, Type type, Builder& b) {
    Op& load = b.append(OpCode::load, rewriter_[op.operands], {std::move(type)});
    load.axis = op.axis;
    load.index = op.index;
    load.loc = op.loc;
    to_.values[load.results[0].id].name = from_.name_of(op.results[0]);
    return load.results[0];
  }

  void check_dot(const Op& op, const Type& left, const Type& right) const {
    for (const Type* type : {&left, &right}) {
      if (type->dtype != DType::f16 && type->dtype != DType::bf16)
        throw UserError(op.loc, "dot of " + to_string(*type) + " operands",
                        "matrix products take f16 or bf16: cast it");
      if (type->dims.size() != 2)
        throw UserError(op.loc,
                        "dot of " + to_string(*type) + ", which has " + std::to_string(type->dims.size()) + " axes",
                        "matrix products take tiles of two axes");
    }
    if (left.dtype != right.dtype)
      throw UserError(op.loc, "dot of " + to_string(left) + " and " + to_string(right),
                      "both operands must be f16, or both bf16: cast one");
    if (const int contracted = left.extent(op.axis); contracted % kContractedStep != 0)
      throw UserError(op.loc, "dot over axis " + op.axis.name() + ", which has a tile of " + std::to_string(contracted),
                      "matrix products contract a multiple of 16: choose a tile of " +
                          std::to_string((contracted + kContractedStep - 1) / kContractedStep * kContractedStep));
    const Dim& column = right.dims[0].axis == op.axis ? right.dims[1] : right.dims[0];
    if (column.extent % kColumnStep != 0 || column.extent > kMostColumns)
      throw UserError(
          op.loc,
          "dot whose result has a tile of " + std::to_string(column.extent) + " along axis " + column.axis.name(),
          "matrix products make a multiple of 8 columns, at most 256");
  }

  void place_dot(const Op& op, Builder& b) {
    Value left = op.operands[0], right = op.operands[1];
    if (!from_.type(left).has(rule_.row().axis)) std::swap(left, right);
    check_dot(op, from_.type(left), from_.type(right));
    if (!shared_.contains(right.id))
      throw UserError(op.loc, "the right operand " + to_string(from_.type(right)) + " of dot is computed in the kernel",
                      "only the operand with axis " + rule_.row().axis.name() +
                          " may be computed; the other must be loaded as it is: store it first by a kernel of its own");
    std::vector<Value> operands{shared_.contains(left.id) ? shared_[left.id] : rewriter_[left], shared_[right.id]};
    if (op.operands.size() > 2) operands.push_back(rewriter_[op.operands[2]]);
    Op& dot = b.append(OpCode::dot, operands, {rule_.place(from_.type(op.results[0]), op.loc)});
    dot.axis = op.axis;
    dot.loc = op.loc;
    rewriter_.map(op.results[0], dot.results[0]);
  }

  const Kernel& from_;
  const LayoutRule& rule_;
  Kernel to_;
  LoadUses uses_;
  std::unordered_map<std::uint32_t, Value> shared_;  // load result -> its copy for products
  SourceLoc loc_{};
  Rewriter rewriter_;
};

}  // namespace

Kernel assign_layouts(const Kernel& tiled, const LayoutRule& rule) { return AssignLayouts(tiled, rule).run(); }

bool is_shared_load(const Op& op, const Graph& graph) {
  if (op.code != OpCode::load) return false;
  const Type& type = graph.type(op.results[0]);
  return !type.is_scalar() && !type.layout;
}

}  // namespace tessera::backend
