#include <tessera/backend/passes/overlap_products.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <tessera/backend/passes/block_uses.h>
#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

using namespace ir;

namespace {

// The last product of a loop body and what belongs to it.
struct Chain {
  const Op* product;           // mma %operand, %slot, %scaled
  const Op* operand;           // defines the left operand, in registers
  const Op* scale;             // defines %scaled from the carried accumulator; null: the accumulator itself
  Value scaled_by;             // its factor
  const Op* factor;            // defines the factor after the first product; null: it is known before, or there is none
  const Op* slot;              // defines the right operand
  const Op* slot_wait;         // until the slot's copy is complete
  const Op* done;              // mma_wait of its group
  const Op* first_wait;        // mma_wait of the body's first product
  std::size_t accumulator;     // which carried value
  std::vector<const Op*> ops;  // all ops that leave their places: the above and the product's fence and commit
};

bool contains(const std::vector<const Op*>& ops, const Op* op) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

// The product's fence, commit and wait stand around it as place_memory left them.
bool find_group(const Block& body, Chain& chain) {
  for (std::size_t i = 1; i + 2 < body.ops.size(); ++i) {
    if (&body.ops[i] != chain.product) continue;
    std::size_t fence = i - 1;
    while (fence > 0 && body.ops[fence].code == OpCode::wait) --fence;
    if (body.ops[fence].code != OpCode::mma_fence || body.ops[i + 1].code != OpCode::mma_commit) return false;
    chain.done = &body.ops[i + 2];
    chain.ops.insert(chain.ops.end(), {&body.ops[fence], &body.ops[i], &body.ops[i + 1], &body.ops[i + 2]});
    return chain.done->code == OpCode::mma_wait && chain.done->index == 0;
  }
  return false;
}

// A predicate of many operations on each element needs the registers that a product in flight would have.
bool decides_at_length(const Block& body, Axis axis, const Graph& graph) {
  constexpr int kShort = 8;
  int operations = 0;
  for (const Op& op : body.ops)
    for (Value v : op.results) {
      const Type& type = graph.type(v);
      operations += type.has(axis) && !is_float(type.dtype) && type.kind == TypeKind::tile;
    }
  return operations > kShort;
}

bool is_argument(const Block& body, Value v) {
  return std::find(body.args.begin(), body.args.end(), v) != body.args.end();
}

// The barrier that copies into a ring complete on.
Value full_barrier(const Graph& graph, Value ring) {
  const std::vector<const Op*> definition = definitions(graph);
  Value full;
  walk(graph.entry, [&](const Op& op) {
    if (op.code == OpCode::copy && definition[op.operands[0].id]->operands[0] == ring) full = op.operands[1];
  });
  return full;
}

// Whether the iteration uses the ring once, and after every other. The slot will be read one iteration longer; while it
// is, the producer, which loads in the order of the uses, must have come past all that the next iteration reads first.
bool loaded_last(const Block& body, Value ring) {
  int uses = 0;
  bool last = false;
  walk(body, [&](const Op& op) {
    if (op.code != OpCode::slot) return;
    last = op.operands[0] == ring;
    uses += last;
  });
  return last && uses == 1;
}

std::optional<Chain> find_chain(const Op& loop, const Graph& graph) {
  const Block& body = loop.regions[0];
  Chain chain{};
  for (const Op& op : body.ops) {
    if (op.code == OpCode::mma) chain.product = &op;
    if (op.code == OpCode::mma_wait && chain.first_wait == nullptr) chain.first_wait = &op;
  }
  if (chain.product == nullptr || chain.product->operands.size() != 3 || !find_group(body, chain)) return {};
  if (decides_at_length(body, chain.product->axis, graph)) return {};
  if (chain.first_wait == chain.done || chain.first_wait->index != 0) return {};

  const Value left = chain.product->operands[0], right = chain.product->operands[1];
  chain.operand = definition_in(body, left);
  chain.slot = definition_in(body, right);
  if (chain.operand == nullptr || !chain.operand->regions.empty() || graph.type(left).kind != TypeKind::tile) return {};
  if (chain.slot == nullptr || chain.slot->code != OpCode::slot || uses(body, right) != 1) return {};
  const Value full = full_barrier(graph, chain.slot->operands[0]);
  for (const Op& op : body.ops)
    if (op.code == OpCode::wait && op.operands[0] == full && op.operands[1] == chain.slot->operands[1])
      chain.slot_wait = &op;
  if (chain.slot_wait == nullptr || !loaded_last(body, chain.slot->operands[0])) return {};

  Value carried = chain.product->operands[2];
  if (const Op* scale = definition_in(body, carried)) {
    if (scale->code != OpCode::mul || uses(body, carried) != 1) return {};
    const bool first = is_argument(body, scale->operands[0]);
    chain.scale = scale;
    chain.scaled_by = scale->operands[first ? 1 : 0];
    chain.factor = definition_in(body, chain.scaled_by);
    if (chain.factor < chain.first_wait) chain.factor = nullptr;  // ops of one block: earlier ones lie before
    carried = scale->operands[first ? 0 : 1];
  }
  const Op& yield = body.ops.back();
  for (std::size_t i = 0; i < loop.results.size(); ++i)
    if (body.args[i + 1] == carried && yield.operands[i] == chain.done->results[0]) {
      if (uses(body, carried) != 1 || uses(body, chain.done->results[0]) != 1) return {};
      chain.accumulator = i;
      chain.ops.insert(chain.ops.end(), {chain.operand, chain.scale, chain.slot, chain.slot_wait});
      return chain;
    }
  return {};
}

// A product that the next iteration, or the end, will issue.
struct Pending {
  Value operand, scaled, ticket;
};

// Loops one after the other, the next one going on with what the last one carries.
struct Link {
  const Op* loop;
  Chain chain;
};

class OverlapProducts {
 public:
  OverlapProducts(const Kernel& from, bool skip_ones)
      : from_(from),
        to_(like(from)),
        skip_ones_(skip_ones),
        rewriter_(from_, to_,
                  [this](Rewriter&, const Op& op, Builder& b) { return op.code == OpCode::loop && rotate(op, b); }) {
    find_links(from.entry);
  }

  Kernel run() {
    rewriter_.run();
    return std::move(to_);
  }

 private:
  // What a rotated loop carries: its own values, the accumulator scaled for the pending product, and that product.
  struct State {
    std::vector<Value> carried;
    Value operand, ticket;

    std::vector<Value> all() const {
      std::vector<Value> values = carried;
      values.insert(values.end(), {operand, ticket});
      return values;
    }
  };
  static State state(std::span<const Value> values) {
    const std::size_t count = values.size() - 2;
    return {{values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)}, values[count], values[count + 1]};
  }

  // Loops that can be rotated, each with those that its pipeline leads on into.
  void find_links(const Block& block) {
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
      const Op& op = block.ops[i];
      for (const Block& region : op.regions) find_links(region);
      if (op.code != OpCode::loop) continue;
      const std::optional<Chain> chain = find_chain(op, from_);
      if (!chain) continue;
      if (!links_.empty() && i > 0 && links_.back().back().loop == &block.ops[i - 1] &&
          leads_on(links_.back().back(), {&op, *chain}))
        links_.back().push_back({&op, *chain});
      else
        links_.push_back({{&op, *chain}});
    }
  }

  bool leads_on(const Link& a, const Link& b) const {
    const std::vector<Value> init(b.loop->operands.begin() + 2, b.loop->operands.end());
    const auto type = [&](const Op* op) { return from_.type(op->results[0]); };
    const auto read_elsewhere = [&](Value v) { return uses(from_.entry, v) != 1; };
    return init == a.loop->results && std::none_of(init.begin(), init.end(), read_elsewhere) &&
           a.chain.accumulator == b.chain.accumulator && a.chain.slot->operands[0] == b.chain.slot->operands[0] &&
           a.chain.slot_wait->operands[0] == b.chain.slot_wait->operands[0] &&
           type(a.chain.operand) == type(b.chain.operand) && type(a.chain.product) == type(b.chain.product) &&
           a.chain.product->axis == b.chain.product->axis;
  }

  bool rotate(const Op& loop, Builder& b) {
    for (const std::vector<Link>& links : links_)
      for (const Link& link : links) {
        if (link.loop != &loop) continue;
        if (&link == &links.front()) rotate(links, b);
        return true;
      }
    return false;
  }

  // The first loop that has a trip fills the pipeline, the others find it full, and it is drained after the last.
  void rotate(const std::vector<Link>& links, Builder& b) {
    const Chain& chain = links.front().chain;
    const Op& first = *links.front().loop;
    names_.clear();
    for (Value v : first.results) names_.push_back(from_.name_of(v));
    names_.insert(names_.end(), {"pending", "pending_use"});
    State s{rewriter_[std::vector(first.operands.begin() + 2, first.operands.end())],
            b.constant(0, from_.type(chain.operand->results[0])), b.constant(0)};
    Value full;
    for (const Link& link : links) {
      const Value lo = rewriter_[link.loop->operands[0]], hi = rewriter_[link.loop->operands[1]];
      const Value some = b.binary(OpCode::lt, lo, hi);
      const Value fills = full ? b.binary(OpCode::logical_and, some, b.unary(OpCode::logical_not, full)) : some;
      s = state(b.when(fills, s.all(), names_, [&](Builder& in, std::span<const Value> args) {
        return stage(link, lo, state(args), false, in).all();
      }));
      const Value from = b.add(lo, b.cast(fills, DType::i32));
      s = state(b.loop(from, hi, s.all(), names_, [&](Builder& in, std::span<const Value> args) {
        return stage(link, args[0], state(args.subspan(1)), true, in).all();
      }));
      full = full ? b.binary(OpCode::logical_or, full, some) : some;
    }
    const Value drained = b.when(full, std::vector{s.carried[chain.accumulator]},
                                 std::vector{names_[chain.accumulator]}, [&](Builder& in, std::span<const Value> args) {
                                   const Pending pending{s.operand, args[0], s.ticket};
                                   return std::vector{finish(pending, issue(chain, pending, in), in)};
                                 })[0];
    const Op& last = *links.back().loop;
    for (std::size_t i = 0; i < last.results.size(); ++i)
      rewriter_.map(last.results[i], i == chain.accumulator ? drained : s.carried[i]);
  }

  // An iteration up to its pending product, with the one before beside it if there is one.
  State stage(const Link& link, Value index, const State& s, bool full, Builder& b) {
    const Block& body = link.loop->regions[0];
    const std::size_t accumulator = link.chain.accumulator;
    rewriter_.map(body.args[0], index);
    for (std::size_t i = 0; i < s.carried.size(); ++i) rewriter_.map(body.args[i + 1], s.carried[i]);
    const Pending before{s.operand, s.carried[accumulator], s.ticket};
    const Pending after = first_stage(link.chain, body, full ? &before : nullptr, b);
    State out{{}, after.operand, after.ticket};
    for (std::size_t i = 0; i < s.carried.size(); ++i)
      out.carried.push_back(i == accumulator ? after.scaled : rewriter_[body.ops.back().operands[i]]);
    return out;
  }

  // One iteration up to the last product's operand, with `before` issued beside its first product and waited for where
  // the accumulator's factor is known: what then may be long, the operand's elementwise work, has the registers of a
  // product in flight no longer in its way. Where tables are read for each element, those are the first to need room,
  // and `before` is waited for there.
  Pending first_stage(const Chain& chain, const Block& body, const Pending* before, Builder& b) {
    Value product, sum = rewriter_[body.args[chain.accumulator + 1]], scaled;
    const auto wait = [&] {
      if (before != nullptr && product) sum = finish(*before, std::exchange(product, {}), b);
    };
    const auto accumulate = [&] {
      wait();
      scaled = chain.scale == nullptr ? sum : scale(chain, sum, b);
    };
    const bool crowded = reads_tables(body);
    const std::vector<const Op*> later = deciding(body, chain.first_wait);
    for (const Op& op : body.ops) {
      if (op.code == OpCode::yield || contains(chain.ops, &op)) continue;
      if (&op < chain.first_wait && contains(later, &op)) continue;
      if (before != nullptr && &op == chain.first_wait) {
        product = issue(chain, *before, b);
        Op first = op;
        first.index = 1;
        rewriter_.copy(first, b);
        if (crowded) wait();
      } else {
        rewriter_.op(op, b);
      }
      if (&op == chain.first_wait)
        for (const Op* deciding : later) rewriter_.op(*deciding, b);
      if (&op == chain.factor) accumulate();
    }
    if (!scaled) accumulate();
    rewriter_.copy(*chain.operand, b);
    return {rewriter_[chain.operand->results[0]], scaled, rewriter_[chain.slot->operands[1]]};
  }

  bool reads_tables(const Block& body) const {
    return std::any_of(body.ops.begin(), body.ops.end(), [&](const Op& op) {
      return op.code == OpCode::gather && !from_.type(op.results[0]).is_scalar();
    });
  }

  // Predicates, and the table elements that they compare, which nothing reads before the first product is there: they
  // can wait for what they decide about, and would take registers until then.
  std::vector<const Op*> deciding(const Block& body, const Op* first_wait) const {
    std::vector<const Op*> found;
    std::vector<Value> read;
    for (const Op* op = first_wait; op-- != body.ops.data();) {
      const Type* type = op->results.size() == 1 ? &from_.type(op->results[0]) : nullptr;
      const bool predicate = type && is_elementwise(op->code) && type->dtype == DType::i1;
      const bool decides = type && !type->is_scalar() && (predicate || op->code == OpCode::gather);
      if (decides && std::find(read.begin(), read.end(), op->results[0]) == read.end())
        found.push_back(op);
      else
        read.insert(read.end(), op->operands.begin(), op->operands.end());
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

  Value scale(const Chain& chain, Value sum, Builder& b) {
    const OpCode code = skip_ones_ ? OpCode::scale : OpCode::mul;
    return b.append_value(code, {sum, rewriter_[chain.scaled_by]}, from_.type(chain.scale->results[0]));
  }

  Value issue(const Chain& chain, const Pending& p, Builder& b) {
    const Value view = b.append_value(OpCode::slot, {rewriter_[chain.slot->operands[0]], p.ticket},
                                      from_.type(chain.slot->results[0]));
    b.append(OpCode::wait, {rewriter_[chain.slot_wait->operands[0]], p.ticket}).index = 0;
    b.append(OpCode::mma_fence, {});
    Op& mma = b.append(OpCode::mma, {p.operand, view, p.scaled}, {from_.type(chain.product->results[0])});
    mma.axis = chain.product->axis;
    const Value product = mma.results[0];
    b.append(OpCode::mma_commit, {});
    return product;
  }

  // The operand's registers stay untouched until the product has read them.
  Value finish(const Pending& p, Value product, Builder& b) {
    Op& wait = b.append(OpCode::mma_wait, {product, p.operand}, {to_.type(product), to_.type(p.operand)});
    wait.index = 0;
    return wait.results[0];
  }

  const Kernel& from_;
  Kernel to_;
  const bool skip_ones_;
  Rewriter rewriter_;
  std::vector<std::vector<Link>> links_;
  std::vector<std::string> names_;  // of a rotated loop's values
};

}  // namespace

Kernel overlap_products(const Kernel& kernel, const Schedule& schedule) {
  return OverlapProducts(kernel, schedule.skip_ones.value_or(false)).run();
}

}  // namespace tessera::backend
