#include <tessera/backend/passes/overlap_products.h>

#include <algorithm>
#include <optional>

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

// A predicate along the contracted axis marks the loop over partial tiles: few trips, and registers that the operand
// would need.
bool has_predicate(const Block& body, Axis axis, const Graph& graph) {
  for (const Op& op : body.ops)
    for (Value v : op.results)
      if (graph.type(v).dtype == DType::i1 && graph.type(v).has(axis)) return true;
  return false;
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
  if (has_predicate(body, chain.product->axis, graph)) return {};
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

class OverlapProducts {
 public:
  OverlapProducts(const Kernel& from, bool skip_ones)
      : from_(from),
        to_(like(from)),
        skip_ones_(skip_ones),
        rewriter_(from_, to_,
                  [this](Rewriter&, const Op& op, Builder& b) { return op.code == OpCode::loop && rotate(op, b); }) {}

  Kernel run() {
    rewriter_.run();
    return std::move(to_);
  }

 private:
  bool rotate(const Op& loop, Builder& b) {
    const std::optional<Chain> chain = find_chain(loop, from_);
    if (!chain) return false;
    const Value lo = rewriter_[loop.operands[0]], hi = rewriter_[loop.operands[1]];
    const std::vector<Value> init = rewriter_[std::vector(loop.operands.begin() + 2, loop.operands.end())];
    std::vector<std::string> names;
    for (Value v : loop.results) names.push_back(from_.name_of(v));
    const auto whole = [&](Builder& in, std::span<const Value> carried) {
      return rotated(*chain, loop, lo, hi, carried, names, in);
    };
    const std::vector<Value> results = b.when(b.binary(OpCode::lt, lo, hi), init, names, whole);
    for (std::size_t i = 0; i < results.size(); ++i) rewriter_.map(loop.results[i], results[i]);
    return true;
  }

  std::vector<Value> rotated(const Chain& chain, const Op& loop, Value lo, Value hi, std::span<const Value> carried,
                             std::vector<std::string> names, Builder& b) {
    const Block& body = loop.regions[0];
    rewriter_.map(body.args[0], lo);
    for (std::size_t i = 0; i < carried.size(); ++i) rewriter_.map(body.args[i + 1], carried[i]);
    Pending pending = first_stage(chain, body, nullptr, b);

    std::vector<Value> init;
    for (std::size_t i = 0; i < carried.size(); ++i)
      init.push_back(i == chain.accumulator ? pending.scaled : rewriter_[body.ops.back().operands[i]]);
    init.insert(init.end(), {pending.operand, pending.ticket});
    names.insert(names.end(), {"pending", "pending_use"});
    const std::size_t count = carried.size();
    const auto iteration = [&](Builder& in, std::span<const Value> args) {
      rewriter_.map(body.args[0], args[0]);
      for (std::size_t i = 0; i < count; ++i) rewriter_.map(body.args[i + 1], args[i + 1]);
      const Pending before{args[count + 1], args[chain.accumulator + 1], args[count + 2]};
      const Pending after = first_stage(chain, body, &before, in);
      std::vector<Value> yields;
      for (std::size_t i = 0; i < count; ++i)
        yields.push_back(i == chain.accumulator ? after.scaled : rewriter_[body.ops.back().operands[i]]);
      yields.insert(yields.end(), {after.operand, after.ticket});
      return yields;
    };
    std::vector<Value> end = b.loop(b.add(lo, 1), hi, init, names, iteration);
    pending = {end[count], end[chain.accumulator], end[count + 1]};
    end[chain.accumulator] = finish(pending, issue(chain, pending, b), b);
    end.resize(count);
    return end;
  }

  // One iteration up to the last product's operand, with `before` issued beside its first product and waited for where
  // the accumulator's factor is known: what then may be long, the operand's elementwise work, has the registers of a
  // product in flight no longer in its way.
  Pending first_stage(const Chain& chain, const Block& body, const Pending* before, Builder& b) {
    Value product, scaled;
    const auto accumulate = [&] {
      const Value sum = before == nullptr ? rewriter_[body.args[chain.accumulator + 1]] : finish(*before, product, b);
      scaled = chain.scale == nullptr ? sum : scale(chain, sum, b);
    };
    for (const Op& op : body.ops) {
      if (op.code == OpCode::yield || contains(chain.ops, &op)) continue;
      if (before != nullptr && &op == chain.first_wait) {
        product = issue(chain, *before, b);
        Op wait = op;
        wait.index = 1;
        rewriter_.copy(wait, b);
      } else {
        rewriter_.op(op, b);
      }
      if (&op == chain.factor) accumulate();
    }
    if (!scaled) accumulate();
    rewriter_.copy(*chain.operand, b);
    return {rewriter_[chain.operand->results[0]], scaled, rewriter_[chain.slot->operands[1]]};
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
};

}  // namespace

Kernel overlap_products(const Kernel& kernel, const Schedule& schedule) {
  return OverlapProducts(kernel, schedule.skip_ones.value_or(false)).run();
}

}  // namespace tessera::backend
