#include <tessera/backend/passes/slice.h>

#include <vector>

#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

using namespace ir;

namespace {

class Slice {
 public:
  Slice(const Kernel& kernel, const std::function<bool(const Op&)>& root)
      : root_(root), needed_(kernel.values.size(), false) {
    for (bool changed = true; changed;) {  // carried values need their yields, which may come later in program order
      changed_ = false;
      mark(kernel.entry);
      changed = changed_;
    }
  }

  Block keep(const Block& block) const {
    Block out;
    out.args = block.args;
    for (const Op& op : block.ops) {
      if (op.code == OpCode::yield) {
        out.ops.push_back(op);
      } else if (kept(op)) {
        out.ops.push_back(op.regions.empty() ? op : keep_region(op));
      }
    }
    return out;
  }

 private:
  void need(Value v) {
    if (needed_[v.id]) return;
    needed_[v.id] = changed_ = true;
  }

  bool kept(const Op& op) const {
    if (root_(op)) return true;
    for (Value v : op.results)
      if (needed_[v.id]) return true;
    for (const Block& region : op.regions)
      for (const Op& inner : region.ops)
        if (inner.code != OpCode::yield && kept(inner)) return true;
    return false;
  }

  // Backwards, so that one sweep settles straight-line code.
  void mark(const Block& block) {
    for (auto op = block.ops.rbegin(); op != block.ops.rend(); ++op) {
      if (op->code == OpCode::yield || !kept(*op)) continue;
      if (op->regions.empty()) {
        for (Value v : op->operands) need(v);
      } else {
        mark_region(*op);
      }
    }
  }

  void mark_region(const Op& op) {
    const Block& body = op.regions[0];
    const std::size_t heads = op.operands.size() - op.results.size(), own = body.args.size() - op.results.size();
    for (std::size_t i = 0; i < heads; ++i) need(op.operands[i]);
    for (std::size_t i = 0; i < op.results.size(); ++i) {
      if (!carried(op, i)) continue;
      need(op.results[i]);
      need(body.args[own + i]);
      need(op.operands[heads + i]);
      need(body.ops.back().operands[i]);
    }
    mark(body);
  }

  bool carried(const Op& op, std::size_t i) const {
    const Block& body = op.regions[0];
    return needed_[op.results[i].id] || needed_[body.args[body.args.size() - op.results.size() + i].id];
  }

  Op keep_region(const Op& op) const {
    Op out = op;
    const std::size_t heads = op.operands.size() - op.results.size();
    const std::size_t own = op.regions[0].args.size() - op.results.size();
    Block body = keep(op.regions[0]);
    std::vector<Value> yields;
    out.operands.resize(heads);
    out.results.clear();
    body.args.resize(own);
    for (std::size_t i = 0; i < op.results.size(); ++i) {
      if (!carried(op, i)) continue;
      out.operands.push_back(op.operands[heads + i]);
      out.results.push_back(op.results[i]);
      body.args.push_back(op.regions[0].args[own + i]);
      yields.push_back(op.regions[0].ops.back().operands[i]);
    }
    if (!op.results.empty()) body.ops.back().operands = yields;  // a role's region has no yield
    out.regions = {std::move(body)};
    return out;
  }

  const std::function<bool(const Op&)>& root_;
  std::vector<bool> needed_;
  bool changed_ = false;
};

}  // namespace

Kernel slice(const Kernel& kernel, const std::function<bool(const Op&)>& root) {
  Kernel out = kernel;
  out.entry = Slice(kernel, root).keep(kernel.entry);
  return out;
}

}  // namespace tessera::backend
