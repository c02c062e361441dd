#include <tessera/backend/passes/hoist_loads.h>

#include <algorithm>
#include <unordered_set>

#include <tessera/backend/passes/assign_layouts.h>
#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

using namespace ir;

namespace {

// A handle of a tile's place is made of scalars.
bool holds_no_tile(const Type& type) { return type.is_scalar() || type.kind == TypeKind::index; }

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
      for (Value v : op.operands) any = any || depends_[v.id] || !holds_no_tile(graph_.type(v));
      if (op.regions.empty()) {
        for (Value v : op.results) mark(v, any || !holds_no_tile(graph_.type(v)));
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

// Moves what the products of one branch read out in front of it.
class Hoist {
 public:
  Hoist(const Kernel& from, Rewriter& rewriter, Builder& into) : from_(from), rewriter_(rewriter), into_(into) {}

  void branch(const Op& when) {
    const Block& body = when.regions[0];
    for (std::size_t i = 0; i < body.args.size(); ++i) {
      const Value init = when.operands[1 + i];
      if (rewriter_.mapped(init)) rewriter_.map(body.args[i], rewriter_[init]);
    }
    need(body);
    for (const Op& op : body.ops) {
      if (op.code == OpCode::when) {
        branch(op);
      } else if (!op.regions.empty()) {
        refuse_loop(op);
      } else if (is_shared_load(op, from_)) {
        if (!known(op))
          throw UserError(op.loc, "this tile is loaded for a product at a place that is computed in a branch of tiles",
                          "compute the place from scalars, lengths, lists and tables");
        rewriter_.copy(op, into_);
      } else if (op.results.size() == 1 && needed_.contains(op.results[0].id) && scalar(op) && known(op)) {
        rewriter_.copy(op, into_);
      }
    }
  }

 private:
  // What the loads' coordinates are made of.
  void need(const Block& block) {
    for (auto op = block.ops.rbegin(); op != block.ops.rend(); ++op) {
      for (const Block& region : op->regions) need(region);
      bool wanted = is_shared_load(*op, from_);
      for (Value v : op->results) wanted = wanted || needed_.contains(v.id);
      if (!wanted) continue;
      for (Value v : op->operands) needed_.insert(v.id);
    }
  }

  bool scalar(const Op& op) const { return !has_effect(op) && holds_no_tile(from_.type(op.results[0])); }

  bool known(const Op& op) const {
    return std::all_of(op.operands.begin(), op.operands.end(), [&](Value v) { return rewriter_.mapped(v); });
  }

  void refuse_loop(const Op& loop) const {
    for (const Block& region : loop.regions)
      walk(region, [&](const Op& op) {
        if (is_shared_load(op, from_))
          throw UserError(op.loc, "this tile is loaded for a product in a loop that only runs if tiles say so",
                          "put the when(...) into the loop, around the product");
      });
  }

  const Kernel& from_;
  Rewriter& rewriter_;
  Builder& into_;
  std::unordered_set<std::uint32_t> needed_;
};

}  // namespace

Kernel hoist_loads(const Kernel& kernel) {
  const TileDependence depends(kernel);
  Kernel out = like(kernel);
  Rewriter rewriter(kernel, out, [&](Rewriter& r, const Op& op, Builder& b) {
    if (op.results.size() == 1 && r.mapped(op.results[0])) return true;  // hoisted already
    if (op.code == OpCode::when && depends[op.operands[0]]) Hoist(kernel, r, b).branch(op);
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
