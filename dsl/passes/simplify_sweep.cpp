#include <algorithm>
#include <bit>
#include <unordered_map>
#include <unordered_set>

#include <tessera/dsl/ir/rewrite.h>
#include <tessera/dsl/passes/simplify_internal.h>

namespace tessera::passes::detail {

using ir::Block;
using ir::Graph;
using ir::Op;
using ir::OpCode;
using ir::Value;

namespace {

// Which values and ops an effect, or the yield of the entry block, needs. A carried value is one slot: its initial
// value, argument, yielded value and result live and die together, and a slot that only feeds itself is dead.
class Liveness {
 public:
  explicit Liveness(const Graph& graph) : homes_(graph.values.size()), live_(graph.values.size(), false) {
    index(graph.entry, nullptr);
    roots(graph.entry);
    for (; !pending_.empty();) {
      Value v = pending_.back();
      pending_.pop_back();
      follow(homes_[v.id]);
    }
  }

  bool operator()(Value v) const { return live_[v.id]; }
  bool operator()(const Op& op) const { return op.code == OpCode::yield || kept_.contains(&op); }

 private:
  struct Home {
    const Op* op = nullptr;  // that defines the value, or whose region has it as an argument
    int slot = -1;           // of a region op: which carried value; -1: loop index or tile handle
  };

  void index(const Block& block, const Op* parent) {
    for (const Op& op : block.ops) {
      parents_.emplace(&op, parent);
      for (std::size_t i = 0; i < op.results.size(); ++i) homes_[op.results[i].id] = {&op, static_cast<int>(i)};
      for (const Block& region : op.regions) {
        int own = static_cast<int>(region.args.size() - op.results.size());
        for (int i = 0; i < static_cast<int>(region.args.size()); ++i) {
          homes_[region.args[i].id] = {&op, i < own ? -1 : i - own};
        }
        index(region, &op);
      }
    }
  }

  void roots(const Block& block) {
    for (const Op& op : block.ops) {
      bool entry_yield = op.code == OpCode::yield && !parents_.at(&op);
      if (entry_yield || (op.code != OpCode::yield && ir::has_effect(op))) keep(&op);
      for (const Block& region : op.regions) roots(region);
    }
  }

  void need(Value v) {
    if (live_[v.id]) return;
    live_[v.id] = true;
    pending_.push_back(v);
  }

  // The op must run: what it reads before any carried value, and the ops around it.
  void keep(const Op* op) {
    for (; op && kept_.insert(op).second; op = parents_.at(op)) {
      std::size_t own = op->regions.empty() ? op->operands.size() : op->operands.size() - op->results.size();
      for (std::size_t i = 0; i < own; ++i) need(op->operands[i]);
    }
  }

  void follow(const Home& home) {
    if (!home.op) return;
    keep(home.op);
    if (home.op->regions.empty() || home.slot < 0) return;
    const Op& op = *home.op;
    need(op.results[home.slot]);
    need(op.operands[op.operands.size() - op.results.size() + home.slot]);
    for (const Block& region : op.regions) {
      need(region.args[region.args.size() - op.results.size() + home.slot]);
      need(region.ops.back().operands[home.slot]);
    }
  }

  std::vector<Home> homes_;
  std::vector<bool> live_;
  std::vector<Value> pending_;
  std::unordered_set<const Op*> kept_;
  std::unordered_map<const Op*, const Op*> parents_;  // the op around each; null at the top
};

// The live part of a block, each op as late as its first reader allows, readers in the order of their operands.
class Orderer {
 public:
  explicit Orderer(const Liveness& live) : live_(live) {}

  Block operator()(const Block& block, const Op* owner = nullptr) {
    std::vector<Op> ops;
    for (const Op& op : block.ops) {
      if (live_(op)) ops.push_back(pruned(op));
    }
    Block out{.args = block.args, .ops = {}};
    if (owner && !owner->results.empty()) {
      keep_slots(*owner, out.args);
      keep_slots(*owner, ops.back().operands);
    }
    std::unordered_map<std::uint32_t, std::size_t> producers;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      for (Value v : ops[i].results) producers[v.id] = i;
    }
    std::vector<bool> done(ops.size(), false);
    auto emit = [&](auto& self, std::size_t i) -> void {
      if (done[i]) return;
      done[i] = true;
      for (Value v : read_by(ops[i])) {
        if (auto it = producers.find(v.id); it != producers.end()) self(self, it->second);
      }
      out.ops.push_back(std::move(ops[i]));
    };
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ir::has_effect(ops[i])) emit(emit, i);
    }
    return out;
  }

 private:
  // Without dead carried values, and with its regions in order.
  Op pruned(const Op& op) {
    if (op.regions.empty()) return op;
    Op out = op;
    keep_slots(op, out.operands);
    keep_slots(op, out.results);
    for (std::size_t i = 0; i < op.regions.size(); ++i) out.regions[i] = (*this)(op.regions[i], &op);
    return out;
  }

  // Of a list that ends in one value for each result of `op`, drops those of dead slots.
  void keep_slots(const Op& op, std::vector<Value>& values) const {
    std::size_t own = values.size() - op.results.size(), kept = own;
    for (std::size_t i = 0; i < op.results.size(); ++i) {
      if (live_(op.results[i])) values[kept++] = values[own + i];
    }
    values.resize(kept);
  }

  // Operands, then what the regions read: those already are in order.
  static std::vector<Value> read_by(const Op& op) {
    std::vector<Value> values = op.operands;
    for (const Block& region : op.regions) {
      ir::walk(region,
               [&](const Op& inner) { values.insert(values.end(), inner.operands.begin(), inner.operands.end()); });
    }
    return values;
  }

  const Liveness& live_;
};

Graph renumbered(const Graph& graph) {
  Graph out;
  ir::Rewriter(graph, out, {}).run();
  return out;
}

}  // namespace

Graph sweep(const Graph& graph) {
  Liveness live(graph);
  Graph ordered;
  ordered.values = graph.values;
  ordered.entry = Orderer(live)(graph.entry);
  return renumbered(ordered);
}

Graph accumulate_products(const Graph& graph) {
  std::vector<int> uses(graph.values.size(), 0);
  ir::walk(graph.entry, [&](const Op& op) {
    for (Value v : op.operands) ++uses[v.id];
  });
  std::vector<const Op*> producers = ir::definitions(graph);
  std::vector<const Block*> blocks(graph.values.size(), nullptr);
  auto locate = [&](auto& self, const Block& block) -> void {
    for (const Op& op : block.ops) {
      for (Value v : op.results) blocks[v.id] = &block;
      for (const Block& region : op.regions) self(self, region);
    }
  };
  locate(locate, graph.entry);
  auto product_of = [&](Value v, Value summand, Value sum) -> const Op* {
    const Op* op = producers[v.id];
    bool fits = op && op->code == OpCode::dot && op->operands.size() == 2 && uses[v.id] == 1 &&
                blocks[v.id] == blocks[sum.id] && graph.type(v) == graph.type(sum) &&
                graph.type(summand) == graph.type(sum);
    return fits ? op : nullptr;
  };
  Graph out;
  ir::Rewriter(graph, out, [&](ir::Rewriter& r, const Op& op, ir::Builder& into) {
    if (op.code != OpCode::add) return false;
    Value a = op.operands[0], b = op.operands[1], sum = op.results[0];
    const Op* product = product_of(b, a, sum);
    if (!product) {
      product = product_of(a, b, sum);
      std::swap(a, b);
    }
    if (!product) return false;
    Op fused = *product;
    fused.operands = {r[product->operands[0]], r[product->operands[1]], r[a]};
    fused.results = {out.add_value(graph.type(sum), graph.name_of(sum))};
    r.map(sum, into.push(std::move(fused)).results[0]);
    return true;
  }).run();
  return out;
}

namespace {
bool identical(const Block& a, const Block& b) {
  auto same_op = [](const Op& x, const Op& y) {
    return x.code == y.code && x.operands == y.operands && x.results == y.results && x.axis == y.axis &&
           x.index == y.index && std::bit_cast<std::uint64_t>(x.number) == std::bit_cast<std::uint64_t>(y.number) &&
           std::equal(x.regions.begin(), x.regions.end(), y.regions.begin(), y.regions.end(),
                      [](const Block& p, const Block& q) { return identical(p, q); });
  };
  return a.args == b.args && std::equal(a.ops.begin(), a.ops.end(), b.ops.begin(), b.ops.end(), same_op);
}
}  // namespace

bool identical(const Graph& a, const Graph& b) {
  auto same_value = [](const ir::ValueInfo& x, const ir::ValueInfo& y) { return x.type == y.type && x.name == y.name; };
  return std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), same_value) &&
         identical(a.entry, b.entry);
}

}  // namespace tessera::passes::detail
