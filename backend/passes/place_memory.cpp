#include <tessera/backend/passes/place_memory.h>

#include <algorithm>
#include <map>

#include <tessera/backend/ordered_map.h>
#include <tessera/backend/passes/assign_layouts.h>
#include <tessera/backend/passes/share_rings.h>
#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

using namespace ir;

namespace {

// How often each block loads into a ring. Rings of equal uses are in step.
using Uses = std::map<const Block*, int>;

struct Ring {
  int param = -1;
  Type tile{};           // as loaded, no layout
  Value ring{}, full{};  // in the new kernel
  Value ticket{};        // of the next use, at the point being emitted
  Uses uses{};           // rings in step share the ticket that regions carry
};

class PlaceMemory {
 public:
  explicit PlaceMemory(const Kernel& from)
      : from_(from),
        definitions_(definitions(from)),
        to_(like(from)),
        ring_of_(share_rings(from)),
        rewriter_(from_, to_, [this](Rewriter&, const Op& op, Builder& b) { return replace(op, b); }) {}

  Kernel run() {
    Builder b(to_, to_.entry);
    walk(from_.entry, [&](const Op& op) {
      if (is_shared_load(op, from_) && ring_of_.at(op.results[0].id) == std::ssize(rings_)) declare(op, b);
    });
    count_uses(from_.entry);
    for (Ring& r : rings_) r.ticket = b.constant(0);
    rewriter_.block(from_.entry, b);
    return std::move(to_);
  }

 private:
  Ring& ring(const Op& load) { return rings_[static_cast<std::size_t>(ring_of_.at(load.results[0].id))]; }

  void count_uses(const Block& block) {
    for (const Op& op : block.ops) {
      if (is_shared_load(op, from_)) ++ring(op).uses[&block];
      for (const Block& region : op.regions) count_uses(region);
    }
  }

  void declare(const Op& load, Builder& b) {
    const Type& tile = from_.type(load.results[0]);
    b.set_loc(load.loc);
    Type ring = tile, barrier;
    ring.kind = TypeKind::shared;
    barrier.kind = TypeKind::barrier;
    barrier.arrivals = 1;
    Ring r{load.index, tile, b.append_value(OpCode::alloc, {}, ring), b.append_value(OpCode::alloc, {}, barrier), {}};
    const std::string& name = from_.params[load.index].name;
    to_.values[r.ring.id].name = name + "_ring";
    to_.values[r.full.id].name = name + "_full";
    rings_.push_back(r);
  }

  bool replace(const Op& op, Builder& b) {
    b.set_loc(op.loc);
    if (is_shared_load(op, from_)) return copy(op, b), true;
    if (op.code == OpCode::dot) return product(op, b), true;
    if (has_region(op.code)) return region(op, b), true;
    return false;
  }

  void copy(const Op& load, Builder& b) {
    Ring& r = ring(load);
    Type view = r.tile;
    view.kind = TypeKind::view;
    const Value slot = b.append_value(OpCode::slot, {r.ring, r.ticket}, view);
    Type copied = r.tile;
    if (const AxisOrder* cut = order_of(from_, definitions_, load.operands[0])) {
      copied.dims[0].extent = cut->order.tile();
      check_copy(*cut, load);
    }
    if (from_.type(load.operands[1]).kind == TypeKind::index) refuse_columns(load);
    b.append(OpCode::expect, {r.full, r.ticket}).number = shared_tile_bytes(copied);
    std::vector<Value> operands{slot, r.full, r.ticket};
    for (Value v : rewriter_[load.operands]) operands.push_back(v);
    Op& copy = b.append(OpCode::copy, operands);
    copy.index = load.index;
    copy.axis = load.axis;
    b.append(OpCode::wait, {r.full, r.ticket}).index = 0;
    r.ticket = b.add(r.ticket, 1);
    rewriter_.map(load.results[0], slot);
  }

  void check_copy(const AxisOrder& cut, const Op& load) const {
    constexpr int kMostDigits = 3;
    const auto several = std::count_if(cut.order.digits.begin(), cut.order.digits.end(),
                                       [](const OrderDigit& digit) { return digit.tile > 1; });
    if (several > kMostDigits)
      throw UserError(
          load.loc,
          "tiles in order " + to_string(cut.order) + " have several values of " + std::to_string(several) + " digits",
          "a copy takes boxes of at most " + std::to_string(kMostDigits) + " dimensions");
  }

  void refuse_columns(const Op& load) const {
    const Param& param = from_.params[load.index];
    throw UserError(load.loc,
                    "tiles of '" + param.name + "' for products are cut along its last axis, " +
                        param.axes.back().name() + ", in a token order",
                    "store it with " + param.axes.back().name() + " before its other axis");
  }

  void product(const Op& dot, Builder& b) {
    b.append(OpCode::mma_fence, {});
    const std::vector<Value> operands = rewriter_[dot.operands];
    const Type type = from_.type(dot.results[0]);
    Op& mma = b.append(OpCode::mma, operands, {type});
    mma.axis = dot.axis;
    const Value pending = mma.results[0];
    b.append(OpCode::mma_commit, {});
    std::vector<Value> through{pending};
    std::vector<Type> types{type};
    if (to_.type(operands[0]).kind == TypeKind::tile) {  // its registers stay untouched until the product has read them
      through.push_back(operands[0]);
      types.push_back(to_.type(operands[0]));
    }
    Op& wait = b.append(OpCode::mma_wait, through, types);
    wait.index = 0;
    rewriter_.map(dot.results[0], wait.results[0]);
  }

  // Control flow, with the tickets of the rings that it uses added to what it carries.
  void region(const Op& op, Builder& b) {
    std::vector<std::vector<Ring*>> used;  // those in step together
    std::vector<Ring*> once;               // a program: their ticket is the turn
    walk(op.regions[0], [&](const Op& inner) {
      if (!is_shared_load(inner, from_)) return;
      Ring* r = &ring(inner);
      const auto in_step = std::find_if(used.begin(), used.end(), [&](const auto& s) { return s[0]->uses == r->uses; });
      if (op.code == OpCode::programs && r->uses == Uses{{&op.regions[0], 1}})
        once.push_back(r);
      else if (in_step == used.end())
        used.push_back({r});
      else if (std::find(in_step->begin(), in_step->end(), r) == in_step->end())
        in_step->push_back(r);
    });
    const auto set_tickets = [&](std::span<const Value> tickets) {
      for (std::size_t i = 0; i < used.size(); ++i)
        for (Ring* r : used[i]) r->ticket = tickets[i];
    };
    const Block& body = op.regions[0];
    const std::size_t heads = op.operands.size() - op.results.size(), own = body.args.size() - op.results.size();
    std::vector<Value> init;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < op.results.size(); ++i) {
      init.push_back(rewriter_[op.operands[heads + i]]);
      names.push_back(from_.name_of(op.results[i]));
    }
    for (const std::vector<Ring*>& step : used) {
      init.push_back(step[0]->ticket);
      std::string name;
      for (Ring* r : step) name += from_.params[r->param].name + "_";
      names.push_back(name + "use");
    }
    const auto emit_body = [&](Builder& inner, std::span<const Value> args) {
      for (std::size_t i = 0; i < body.args.size(); ++i) rewriter_.map(body.args[i], args[i]);
      set_tickets(args.subspan(own + op.results.size()));
      for (Ring* r : once) r->ticket = args[0];
      for (std::size_t i = 0; i + 1 < body.ops.size(); ++i) rewriter_.op(body.ops[i], inner);
      std::vector<Value> yields = rewriter_[body.ops.back().operands];
      for (const std::vector<Ring*>& step : used) yields.push_back(step[0]->ticket);
      return yields;
    };
    const std::vector<Value> results =
        op.code == OpCode::loop   ? b.loop(rewriter_[op.operands[0]], rewriter_[op.operands[1]], init, names, emit_body)
        : op.code == OpCode::when ? b.when(rewriter_[op.operands[0]], init, names, emit_body)
                                  : b.programs(init, names, emit_body);
    for (std::size_t i = 0; i < op.results.size(); ++i) rewriter_.map(op.results[i], results[i]);
    set_tickets(std::span(results).subspan(op.results.size()));
  }

  const Kernel& from_;
  const std::vector<const Op*> definitions_;
  Kernel to_;
  std::unordered_map<std::uint32_t, int> ring_of_;  // by the id of a load's result
  std::vector<Ring> rings_;
  Rewriter rewriter_;
};

}  // namespace

Kernel place_memory(const Kernel& kernel) { return PlaceMemory(kernel).run(); }

int shared_tile_bytes(const Type& type) {
  const int rows = type.dims[0].extent, columns = type.dims[1].extent;
  return rows * ((columns + 63) / 64) * 128;
}

}  // namespace tessera::backend
