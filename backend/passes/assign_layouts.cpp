#include <tessera/backend/passes/assign_layouts.h>

#include <unordered_map>
#include <unordered_set>

#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

using namespace ir;

namespace {

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

  void place_dot(const Op& op, Builder& b) {
    Value left = op.operands[0], right = op.operands[1];
    if (!from_.type(left).has(rule_.row().axis)) std::swap(left, right);
    for (Value v : {left, right})
      if (from_.type(v).dtype != DType::f16 && from_.type(v).dtype != DType::bf16)
        throw UserError(op.loc, "dot of " + to_string(from_.type(v)) + " operands",
                        "matrix products take f16 or bf16: cast it");
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
