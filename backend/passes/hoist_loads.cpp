#include <tessera/backend/passes/hoist_loads.h>

#include <tessera/backend/passes/assign_layouts.h>
#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

using namespace ir;

namespace {

// By value id: depends on a tile, so only the computing warps know it. Carried values are so as soon as any of theirs
// is.
class TileDependence {
 public:
  explicit TileDependence(const Kernel& kernel) : graph_(kernel), depends_(kernel.values.size(), false) {
    for (bool changed = true; changed;) {
      changed_ = false;
      visit(kernel.entry);
      changed = changed_;
    }
  }
  bool operator[](Value v) const { return depends_[v.id]; }

 private:
  void mark(Value v, bool depends) {
    if (!depends || depends_[v.id]) return;
    depends_[v.id] = changed_ = true;
  }

  void visit(const Block& block) {
    for (const Op& op : block.ops) {
      bool any = false;
      for (Value v : op.operands) any = any || depends_[v.id] || !graph_.type(v).is_scalar();
      if (op.regions.empty()) {
        for (Value v : op.results) mark(v, any || !graph_.type(v).is_scalar());
      } else {
        visit_region(op);
      }
    }
  }

  void visit_region(const Op& op) {
    const Block& body = op.regions[0];
    const std::size_t inits = op.operands.size() - op.results.size();  // loop: lo, hi; when: the condition
    const std::size_t own = body.args.size() - op.results.size();      // loop: the index
    bool controlled = false;
    for (std::size_t i = 0; i < inits; ++i) controlled = controlled || depends_[op.operands[i].id];
    for (std::size_t i = 0; i < own; ++i) mark(body.args[i], controlled);
    for (std::size_t i = 0; i < op.results.size(); ++i) mark(body.args[own + i], depends_[op.operands[inits + i].id]);
    visit(body);
    const Op& yield = body.ops.back();
    for (std::size_t i = 0; i < op.results.size(); ++i) {
      mark(op.results[i], controlled || depends_[yield.operands[i].id] || depends_[op.operands[inits + i].id]);
      mark(body.args[own + i], depends_[yield.operands[i].id]);
    }
  }

  const Graph& graph_;
  std::vector<bool> depends_;
  bool changed_ = false;
};

// The loads of a branch, in order, with the scalar ops their coordinates need.
void hoist(const Block& block, const Kernel& from, Rewriter& rewriter, Builder& into) {
  for (const Op& op : block.ops) {
    const bool scalar =
        !has_effect(op) && op.regions.empty() && op.results.size() == 1 && from.type(op.results[0]).is_scalar();
    bool known = true;
    for (Value v : op.operands) known = known && rewriter.mapped(v);
    if (known && (scalar || is_shared_load(op, from))) rewriter.copy(op, into);
  }
}

}  // namespace

Kernel hoist_loads(const Kernel& kernel) {
  const TileDependence depends(kernel);
  Kernel out = like(kernel);
  Rewriter rewriter(kernel, out, [&](Rewriter& r, const Op& op, Builder& b) {
    if (op.results.size() == 1 && r.mapped(op.results[0])) return true;  // hoisted already
    if (op.code == OpCode::when && depends[op.operands[0]]) hoist(op.regions[0], kernel, r, b);
    if (op.code == OpCode::loop && (depends[op.operands[0]] || depends[op.operands[1]]))
      walk(op.regions[0], [&](const Op& inner) {
        if (is_shared_load(inner, kernel))
          throw UserError(inner.loc,
                          "this tile is loaded for a product inside a loop whose bounds are computed from tiles",
                          "loop over bounds made of scalars and lengths, and skip work inside with when(...)");
      });
    return false;
  });
  rewriter.run();
  return out;
}

}  // namespace tessera::backend
