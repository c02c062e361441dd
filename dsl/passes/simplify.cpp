#include <tessera/dsl/passes/simplify.h>

#include <bit>
#include <deque>
#include <unordered_map>

#include <tessera/dsl/ir/fold.h>
#include <tessera/dsl/ir/rewrite.h>
#include <tessera/dsl/passes/simplify_internal.h>

namespace tessera::passes {

namespace {

using ir::Block;
using ir::Builder;
using ir::Graph;
using ir::Op;
using ir::OpCode;
using ir::OpKind;
using ir::Rewriter;
using ir::Type;
using ir::Value;

// What two pure ops must have in common to be one.
struct Key {
  OpCode code;
  int index;
  ir::Axis axis;
  std::uint64_t number;
  std::vector<Value> operands;
  Type type;
  friend bool operator==(const Key&, const Key&) = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::size_t h = static_cast<std::size_t>(key.code) * 31 + static_cast<std::size_t>(key.index + 1);
    auto mix = [&](std::size_t x) { h = (h ^ x) * 0x9e3779b97f4a7c15u; };
    mix(key.number);
    mix(static_cast<std::size_t>(key.type.dtype) * 8 + key.type.dims.size());
    for (Value v : key.operands) mix(v.id);
    return h;
  }
};

bool is_pure(const Op& op) { return op.regions.empty() && op.results.size() == 1 && !ir::has_effect(op); }

// Costs nothing to compute: may leave even a `when`, whose point is to skip work.
bool is_free(OpCode code) {
  return code == OpCode::constant || code == OpCode::scalar || code == OpCode::program_id || code == OpCode::length;
}

// One pass over a graph: every op is simplified on its new operands, looked up among those already there, and appended
// to the outermost block in which its operands exist.
class Simplifier : public detail::Emitter {
 public:
  explicit Simplifier(const Graph& from)
      : from_(from), rewriter_(from, to_, [this](Rewriter&, const Op& op, Builder& into) { return visit(op, into); }) {}

  Graph run() {
    Builder top(to_, to_.entry);
    levels_.push_back({&top, false, {}});
    for (Value arg : from_.entry.args) {
      Value mine = add_value(from_.type(arg), from_.name_of(arg), 0);
      to_.entry.args.push_back(mine);
      rewriter_.map(arg, mine);
    }
    for (const Op& op : from_.entry.ops) rewriter_.op(op, top);
    return std::move(to_);
  }

  const Type& type(Value v) const override { return to_.type(v); }
  const Op* definition(Value v) const override {
    return definitions_[v.id].results.empty() ? nullptr : &definitions_[v.id];
  }

  Value constant(double number, Type type) override {
    Op op{.code = OpCode::constant, .number = ir::shortest(type.dtype, number)};
    return share(std::move(op), type);
  }

  Value emit(Op op, Type type) override {
    if (std::optional<Value> simpler = detail::simplify_op(*this, op, type)) return *simpler;
    return share(std::move(op), type);
  }

 private:
  struct Level {
    Builder* builder;
    bool guarded;             // a `when`: what is inside stays inside
    std::vector<Key> shared;  // entries of table_ that end with the block
  };

  bool visit(const Op& op, Builder& into) {
    loc_ = op.loc;
    if (op.code == OpCode::loop || op.code == OpCode::over || op.code == OpCode::when) {
      region_op(op, into);
    } else if (is_pure(op)) {
      Op copy{
          .code = op.code, .operands = rewriter_[op.operands], .axis = op.axis, .index = op.index, .number = op.number};
      const Type& type = from_.type(op.results[0]);
      Value v = op.code == OpCode::constant ? constant(op.number, type) : emit(std::move(copy), type);
      take_name(v, from_.name_of(op.results[0]));
      rewriter_.map(op.results[0], v);
    } else {
      rewriter_.copy(op, into);
      for (Value v : op.results) record(rewriter_[v], level(), nullptr);
    }
    return true;
  }

  int level() const { return static_cast<int>(levels_.size()) - 1; }

  void take_name(Value v, const std::string& name) {
    const Op* op = definition(v);
    if (op && op->code != OpCode::constant && to_.values[v.id].name.empty()) to_.values[v.id].name = name;
  }

  void record(Value v, int level, const Op* op) {
    definitions_.resize(to_.values.size());
    level_of_.resize(to_.values.size(), 0);
    level_of_[v.id] = level;
    if (op) definitions_[v.id] = *op;
  }

  Value add_value(const Type& type, const std::string& name, int level) {
    Value v = to_.add_value(type, name);
    record(v, level, nullptr);
    return v;
  }

  int home(const Op& op) const {
    int home = 0;
    for (int i = level(); i > 0 && !is_free(op.code); --i) {
      if (levels_[i].guarded) {
        home = i;
        break;
      }
    }
    for (Value v : op.operands) home = std::max(home, level_of_[v.id]);
    return home;
  }

  Value share(Op op, const Type& type) {
    Key key{op.code, op.index, op.axis, std::bit_cast<std::uint64_t>(op.number), op.operands, type};
    if (auto it = table_.find(key); it != table_.end()) return it->second;
    int at = home(op);
    op.results = {to_.add_value(type)};
    op.loc = loc_;
    record(op.results[0], at, &op);
    Value v = op.results[0];
    levels_[at].builder->push(std::move(op));
    levels_[at].shared.push_back(key);
    table_.emplace(std::move(key), v);
    return v;
  }

  std::vector<Value> yielded(const Block& region) const { return region.ops.back().operands; }

  // The op's results are these values, computed elsewhere.
  void replace(const Op& op, const std::vector<Value>& values) {
    for (std::size_t i = 0; i < op.results.size(); ++i) rewriter_.map(op.results[i], values[i]);
  }

  void inline_region(const Op& op, Builder& into, const std::vector<Value>& args) {
    const Block& region = op.regions[0];
    for (std::size_t i = 0; i < args.size(); ++i) rewriter_.map(region.args[i], args[i]);
    rewriter_.block(region, into);
    replace(op, rewriter_[yielded(region)]);
  }

  // A region that runs never, or exactly once, disappears.
  bool runs_known_times(const Op& op, Builder& into) {
    std::vector<Value> operands = rewriter_[op.operands];
    if (op.code == OpCode::when) {
      std::vector<Value> init(operands.begin() + 1, operands.end());
      std::optional<double> condition = number(operands[0]);
      if (condition == 0.0) replace(op, init);
      if (condition == 1.0) inline_region(op, into, init);
      return condition.has_value();
    }
    if (op.code != OpCode::loop) return false;
    std::vector<Value> init(operands.begin() + 2, operands.end());
    std::optional<double> lo = number(operands[0]), hi = number(operands[1]);
    bool never = operands[0] == operands[1] || (lo && hi && *hi <= *lo);
    if (never) replace(op, init);
    if (never || !lo || !hi || *hi != *lo + 1) return never;
    init.insert(init.begin(), operands[0]);
    inline_region(op, into, init);
    return true;
  }

  // A carried value that is yielded as it came: the initial value, in the region and after it.
  bool is_invariant(const Op& op, std::size_t slot, Value init) const {
    const Block& region = op.regions[0];
    Value arg = region.args[region.args.size() - op.results.size() + slot];
    Value next = yielded(region)[slot];
    return next == arg || (rewriter_.mapped(next) && rewriter_[next] == init);
  }

  void region_op(const Op& op, Builder& into) {
    if (runs_known_times(op, into)) return;
    const Block& from = op.regions[0];
    std::size_t first = op.operands.size() - op.results.size(), own = from.args.size() - op.results.size();
    Op out{.code = op.code, .axis = op.axis, .index = op.index, .loc = op.loc};
    for (std::size_t i = 0; i < first; ++i) out.operands.push_back(rewriter_[op.operands[i]]);
    Block region;
    int inside = level() + 1;
    auto argument = [&](Value arg) {
      Value mine = add_value(from_.type(arg), from_.name_of(arg), inside);
      region.args.push_back(mine);
      rewriter_.map(arg, mine);
    };
    for (std::size_t i = 0; i < own; ++i) argument(from.args[i]);
    std::vector<std::size_t> slots;
    for (std::size_t i = 0; i < op.results.size(); ++i) {
      Value init = rewriter_[op.operands[first + i]];
      if (is_invariant(op, i, init)) {
        rewriter_.map(from.args[own + i], init);
        rewriter_.map(op.results[i], init);
        continue;
      }
      argument(from.args[own + i]);
      out.operands.push_back(init);
      slots.push_back(i);
    }
    std::vector<Value> yields = body(from, region, into, op.code == OpCode::when, slots);
    for (std::size_t i : slots) {
      out.results.push_back(add_value(from_.type(op.results[i]), from_.name_of(op.results[i]), level()));
      rewriter_.map(op.results[i], out.results.back());
    }
    out.regions.push_back(std::move(region));
    into.push(std::move(out));
  }

  std::vector<Value> body(const Block& from, Block& region, Builder& into, bool guarded,
                          const std::vector<std::size_t>& slots) {
    Builder inner = into.inside(region);
    levels_.push_back({&inner, guarded, {}});
    rewriter_.block(from, inner);
    std::vector<Value> yields;
    for (std::size_t i : slots) yields.push_back(rewriter_[yielded(from)[i]]);
    inner.set_loc(from.ops.back().loc);
    inner.yield(yields);
    for (const Key& key : levels_.back().shared) table_.erase(key);
    levels_.pop_back();
    return yields;
  }

  const Graph& from_;
  Graph to_;
  Rewriter rewriter_;
  std::vector<Level> levels_;
  std::deque<Op>
      definitions_;  // by Value::id of to_; without results where there is none to look at. Rules keep pointers
  std::vector<int> level_of_;  // the level whose block defines the value
  std::unordered_map<Key, Value, KeyHash> table_;
  SourceLoc loc_;
};

Graph simplify_graph(const Graph& graph) {
  constexpr int kMostRounds = 16;  // each round but the last removes something; two or three are usual
  Graph current = detail::sweep(graph);
  for (int round = 0; round < kMostRounds; ++round) {
    Graph next = detail::sweep(detail::accumulate_products(Simplifier(current).run()));
    if (detail::identical(current, next)) break;
    current = std::move(next);
  }
  return current;
}

}  // namespace

ir::Kernel simplify(const ir::Kernel& kernel) {
  ensure(kernel.stage != ir::Stage::placed,
         "simplify runs before placement: it may reorder what a placed kernel orders");
  ir::Kernel out = ir::like(kernel);
  for (ir::Function& function : out.functions) function = simplify(function);
  static_cast<Graph&>(out) = simplify_graph(kernel);
  return out;
}

ir::Function simplify(const ir::Function& function) {
  ir::Function out{.name = function.name, .graph = simplify_graph(function.graph), .params = function.params};
  return out;
}

}  // namespace tessera::passes
