#include <deque>

#include <fmt/format.h>
#include <tessera/dsl/ir/interpret_placed.h>
#include <tessera/dsl/ir/interpret_shared.h>
#include <tessera/dsl/ir/interpret_tile.h>
#include <tessera/dsl/ir/print.h>

namespace tessera::ir::interp {
namespace {

// The programs that this block has taken from the launch. Whichever role comes first takes the next for all.
class Work {
 public:
  explicit Work(Programs& programs) : programs_(programs) {}

  const std::vector<std::int64_t>* program(std::int64_t turn) {
    while (static_cast<std::int64_t>(taken_.size()) <= turn) {
      if (static_cast<std::int64_t>(taken_.size()) == programs_.most) return nullptr;
      const std::int64_t number = programs_.next++;
      if (number >= programs_.count) return nullptr;
      taken_.push_back(program_at(*programs_.order, number, programs_.counts));
    }
    return &taken_[static_cast<std::size_t>(turn)];
  }

 private:
  Programs& programs_;
  std::deque<std::vector<std::int64_t>> taken_;  // a deque: roles keep pointers into it
};

// Whose turn it is among the warpgroups of each role: group g's n-th turn follows that of group g - 1, and group 0's
// that of the last group before it.
class Turns {
 public:
  explicit Turns(const Kernel& kernel) {
    for (const Role& role : kernel.roles) passed_.emplace_back(static_cast<std::size_t>(role.warpgroups), 0);
  }
  bool may_take(std::size_t role, int group) const {
    const std::vector<std::int64_t>& passed = passed_[role];
    const auto g = static_cast<std::size_t>(group);
    return g == 0 ? passed.back() == passed[0] : passed[g - 1] > passed[g];
  }
  void pass(std::size_t role, int group) { ++passed_[role][static_cast<std::size_t>(group)]; }

 private:
  std::vector<std::vector<std::int64_t>> passed_;  // by role and group
};

// A warpgroup of a role, or all threads of a kernel without roles: a machine, and what the asynchronous units do for
// it.
class Warpgroup final : public Team {
 public:
  Warpgroup(const Program& program, SharedMemory& shared, Work& work, Turns& turns, Agent agent, int role, int group)
      : shared_(shared),
        work_(work),
        turns_(turns),
        role_(static_cast<std::size_t>(role)),
        agent_(std::move(agent)),
        group_(group),
        machine_(program, *program.launch->kernel, this) {
    agent_.clock.raise(agent_.number, 1);
  }

  Machine& machine() { return machine_; }
  const std::string& name() const { return agent_.name; }
  const Clock& clock() const { return agent_.clock; }
  const std::string& waits_for() const { return waits_for_; }
  const std::vector<const Op*>& roles() const { return roles_; }  // that its code starts

  int group(const Machine&) const override { return group_; }
  const std::vector<std::int64_t>* program(std::int64_t turn) override { return work_.program(turn); }
  bool execute(Machine& machine, const Op& op) override;
  const Tile& read(Machine& machine, const Op& op, Value operand) override;
  void check_end() const;  // nothing that it began is left unfinished

 private:
  // A product's read of a slot, until the product has been waited for.
  struct Reading {
    int ring;
    std::int32_t ticket;
    std::int64_t group;
  };

  [[noreturn]] void fail(const Op& op, const std::string& what) const;
  void expect_none(const Op& op, const std::string& reason) const {
    if (!reason.empty()) fail(op, reason);
  }
  const Reference& reference(const Op& op, std::size_t operand) {
    return machine_.item(op.operands[operand]).reference;
  }
  std::string name_of(Value value) const;

  void alloc(const Op& op);
  void slot(const Op& op);
  void rows(const Op& op);
  void copy(const Op& op);
  void write(const Op& op);
  void send(const Op& op);
  bool wait(const Op& op);
  bool take_turn(const Op& op);
  void multiply(const Op& op);
  Tile operand_of_product(const Op& op, std::size_t operand);
  void wait_for_products(const Op& op);

  SharedMemory& shared_;
  Work& work_;
  Turns& turns_;
  std::size_t role_;
  bool in_turn_ = false;
  Agent agent_;
  int group_;
  Machine machine_;
  std::vector<const Op*> roles_;
  std::string waits_for_;
  std::int64_t fenced_ = -1;                   // step of the last mma_fence
  std::int64_t touched_ = -1;                  // step of the last op, no product, with a tile in registers
  std::int64_t committed_ = 0, finished_ = 0;  // groups of products, numbered from 1
  std::int64_t issued_ = 0;                    // the group of the last product
  std::deque<Reading> readings_;
  int sends_ = 0;  // in flight
};

void Warpgroup::fail(const Op& op, const std::string& what) const {
  const std::string at = op.loc ? " at " + to_string(op.loc) : "";
  throw InternalError(fmt::format("op '{}'{} in {}: {}", info(op.code).name, at, agent_.name, what),
                      print(*machine_.program().launch->kernel));
}

void Warpgroup::check_end() const {
  const auto refuse = [&](const std::string& what) {
    throw InternalError(agent_.name + " ends with " + what, print(*machine_.program().launch->kernel));
  };
  if (issued_ > committed_) refuse("a product that no mma_commit has put into a group");
  if (issued_ > finished_) {
    refuse(fmt::format("product group {} in flight: only groups up to {} were waited for", issued_, finished_));
  }
  if (in_turn_) refuse("a turn that it has not passed");
  if (sends_ > 0) refuse("a send in flight: the block's memory may be another's before it was read");
}

std::string Warpgroup::name_of(Value value) const {
  const std::string& name = machine_.graph().name_of(value);
  return name.empty() ? fmt::format("value {} : {}", value.id, to_string(machine_.graph().type(value))) : "%" + name;
}

const Tile& Warpgroup::read(Machine& machine, const Op& op, Value operand) {
  const Item& item = machine.item(operand);
  const Type& type = machine.graph().type(operand);
  if (!type.is_scalar() && op.code != OpCode::mma) touched_ = machine.steps();
  if (type.kind != TypeKind::tile) {
    fail(op, fmt::format("takes {}, which is not in registers", name_of(operand)));
  }
  if (item.group > finished_) {
    fail(op, fmt::format("uses {}, the result of product group {}, but only groups up to {} were waited for",
                         name_of(operand), item.group, finished_));
  }
  return item.tile;
}

bool Warpgroup::execute(Machine& machine, const Op& op) {
  switch (op.code) {
    case OpCode::alloc: alloc(op); return true;
    case OpCode::role: roles_.push_back(&op); return true;
    case OpCode::slot: slot(op); return true;
    case OpCode::rows: rows(op); return true;
    case OpCode::copy: copy(op); return true;
    case OpCode::write: write(op); return true;
    case OpCode::send: send(op); return true;
    case OpCode::send_wait:
      sends_ = 0;
      shared_.end_sends(agent_);
      return true;
    case OpCode::expect:
    case OpCode::arrive: {
      const std::int64_t bytes = op.code == OpCode::expect ? static_cast<std::int64_t>(op.number) : 0;
      expect_none(op, shared_.arrive(agent_, reference(op, 0).object, machine.integer(op, 1), bytes));
      return true;
    }
    case OpCode::wait: return wait(op);
    case OpCode::turn_wait: return take_turn(op);
    case OpCode::turn_pass:
      if (!in_turn_) fail(op, "passes a turn that it has not got");
      in_turn_ = false;
      turns_.pass(role_, group_);
      return true;
    case OpCode::mma_fence: fenced_ = machine.steps(); return true;
    case OpCode::mma: multiply(op); return true;
    case OpCode::mma_commit: ++committed_; return true;
    case OpCode::mma_wait: wait_for_products(op); return true;
    default: fail(op, "is not an op of placed kernels");
  }
}

void Warpgroup::alloc(const Op& op) {
  const Type& type = machine_.graph().type(op.results[0]);
  const std::string name = name_of(op.results[0]);
  const int object = type.kind == TypeKind::barrier ? shared_.add_barrier(name, type) : shared_.add_ring(name, type);
  machine_.item(op.results[0]) = {Tile{}, {object, 0, {}}, 0, 0};
}

void Warpgroup::slot(const Op& op) {
  const int ring = reference(op, 0).object;
  std::vector<int> starts(shared_.ring(ring).type.dims.size(), 0);
  machine_.item(op.results[0]) = {Tile{}, {ring, machine_.integer(op, 1), std::move(starts)}, 0, 0};
}

void Warpgroup::rows(const Op& op) {
  Reference view = reference(op, 0);
  const int start = machine_.integer(op, 1);
  const std::vector<Dim>& dims = shared_.ring(view.object).type.dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!(dims[i].axis == op.axis)) continue;
    view.starts[i] += start;
    const int extent = machine_.graph().type(op.results[0]).extent(op.axis);
    if (view.starts[i] < 0 || view.starts[i] + extent > dims[i].extent) {
      fail(op, fmt::format("takes rows {} to {} of {}, which has {}", view.starts[i], view.starts[i] + extent - 1,
                           shared_.ring(view.object).name, dims[i].extent));
    }
  }
  machine_.item(op.results[0]) = {Tile{}, std::move(view), 0, 0};
}

void Warpgroup::copy(const Op& op) {
  const Reference& to = reference(op, 0);
  const Ring& ring = shared_.ring(to.object);
  if (machine_.graph().type(op.operands[0]).dims != ring.type.dims) {
    fail(op, fmt::format("writes {}, only part of a slot of {}", name_of(op.operands[0]), ring.name));
  }
  const Place place = machine_.place_of(op, 3);
  Type copied = ring.type;  // less the rows that pad tiles of an order, which stay zeros
  for (std::size_t i = 0; i < place.ordered.size(); ++i)
    for (Dim& dim : copied.dims)
      if (place.ordered[i].cut && dim.axis == (*place.axes)[i]) dim.extent = place.ordered[i].cut->order.tile();
  Tile tile = load(place, ring.type.dims);
  expect_none(op, shared_.fill(agent_, to.object, to.ticket, std::move(tile), reference(op, 1).object,
                               machine_.integer(op, 2), shared_bytes(copied)));
}

void Warpgroup::write(const Op& op) {
  const Reference& to = reference(op, 0);
  Tile tile = machine_.tile(op, 1).packed(machine_.graph().type(op.operands[0]).dims);
  expect_none(op, shared_.write(agent_, to.object, to.ticket, to.starts, std::move(tile)));
}

void Warpgroup::send(const Op& op) {
  const Reference& from = reference(op, 0);
  Tile tile;
  expect_none(op,
              shared_.send(agent_, from.object, from.ticket, from.starts, machine_.graph().type(op.operands[0]), tile));
  store(machine_.place_of(op, 1), tile);
  ++sends_;
}

bool Warpgroup::wait(const Op& op) {
  const int object = reference(op, 0).object;
  const std::int32_t ticket = machine_.integer(op, 1);
  const int back = op.index == 1 ? 1 : 0;
  bool passed = false;
  expect_none(op, shared_.wait(agent_, object, ticket, back, passed));
  if (!passed) {
    const Barrier& barrier = shared_.barrier(object);
    waits_for_ = fmt::format("{} waits for phase {} of barrier {} (ticket {}): {}", agent_.name,
                             barrier.phase_of(ticket) - back, barrier.name, ticket, barrier.state(ticket));
  }
  return passed;
}

bool Warpgroup::take_turn(const Op& op) {
  if (in_turn_) fail(op, "waits for its turn while it has it");
  in_turn_ = turns_.may_take(role_, group_);
  if (!in_turn_) waits_for_ = agent_.name + " waits for its turn";
  return in_turn_;
}

// From shared memory, where the product goes on reading it, or from registers, which a fence must have published.
Tile Warpgroup::operand_of_product(const Op& op, std::size_t operand) {
  const Value value = op.operands[operand];
  const Type& type = machine_.graph().type(value);
  if (type.kind == TypeKind::view) {
    const Reference& view = machine_.item(value).reference;
    expect_none(op, shared_.may_read(agent_, view.object, view.ticket));
    shared_.begin_read(agent_, view.object, view.ticket);
    readings_.push_back({view.object, view.ticket, committed_ + 1});
    Tile tile = shared_.tile(view.object, view.ticket);
    const std::vector<Dim>& dims = shared_.ring(view.object).type.dims;
    for (std::size_t i = 0; i < dims.size(); ++i)
      tile = tile.part(dims[i].axis, view.starts[i], type.extent(dims[i].axis));
    return tile;
  }
  const Item& item = machine_.item(value);
  const bool accumulates = operand == 2 && item.group > finished_;  // products on the same accumulator run in order
  if (!accumulates && item.written >= fenced_) {
    fail(op, fmt::format("reads {} from registers that were written after the last mma_fence", name_of(value)));
  }
  return accumulates ? item.tile : read(machine_, op, value);
}

void Warpgroup::multiply(const Op& op) {
  if (fenced_ < 0) fail(op, "comes before any mma_fence");
  const Tile a = operand_of_product(op, 0), b = operand_of_product(op, 1);
  issued_ = committed_ + 1;
  const bool adds = op.operands.size() == 3;
  const Tile c = adds ? operand_of_product(op, 2) : Tile{};
  if (touched_ >= fenced_) fail(op, "may write registers that were in use after the last mma_fence");
  machine_.item(op.results[0]) = {dot(a, b, op.axis, adds ? &c : nullptr), {}, 0, issued_};
}

void Warpgroup::wait_for_products(const Op& op) {
  finished_ = std::max(finished_, committed_ - op.index);
  while (!readings_.empty() && readings_.front().group <= finished_) {
    shared_.end_read(agent_, readings_.front().ring, readings_.front().ticket);
    readings_.pop_front();
  }
  for (std::size_t i = 0; i < op.operands.size(); ++i) machine_.item(op.results[i]) = machine_.item(op.operands[i]);
}

void take_turns(std::vector<std::unique_ptr<Warpgroup>>& warpgroups, const Kernel& kernel) {
  std::vector<bool> done(warpgroups.size(), false);
  for (;;) {
    bool moved = false, all = true;
    for (std::size_t i = 0; i < warpgroups.size(); ++i) {
      if (done[i]) continue;
      const std::int64_t before = warpgroups[i]->machine().steps();
      done[i] = warpgroups[i]->machine().run();
      moved = moved || done[i] || warpgroups[i]->machine().steps() != before;
      all = all && done[i];
    }
    if (all) return;
    if (moved) continue;
    std::string waits;
    for (std::size_t i = 0; i < warpgroups.size(); ++i) {
      if (!done[i]) waits += "\n  " + warpgroups[i]->waits_for();
    }
    throw InternalError("deadlock:" + waits, print(kernel));
  }
}

}  // namespace

void run_placed(const Program& program, Programs& programs) {
  const Kernel& kernel = *program.launch->kernel;
  std::size_t agents = 1;
  for (const Role& role : kernel.roles) agents += static_cast<std::size_t>(role.warpgroups);
  SharedMemory shared(agents);
  Work work(programs);
  Turns turns(kernel);
  Warpgroup entry(program, shared, work, turns, {0, "the entry block"}, 0, 0);
  entry.machine().start(kernel.entry);
  if (!entry.machine().run()) throw InternalError("deadlock:\n  " + entry.waits_for(), print(kernel));
  entry.check_end();

  std::vector<std::unique_ptr<Warpgroup>> warpgroups;
  for (const Op* op : entry.roles()) {
    const Role& role = kernel.roles[static_cast<std::size_t>(op->index)];
    for (int group = 0; group < role.warpgroups; ++group) {
      Agent agent{warpgroups.size() + 1, fmt::format("{} {}", role.name, group)};
      warpgroups.push_back(
          std::make_unique<Warpgroup>(program, shared, work, turns, std::move(agent), op->index, group));
      warpgroups.back()->machine().adopt(entry.machine());
      warpgroups.back()->machine().start(op->regions[0]);
    }
  }
  take_turns(warpgroups, kernel);
  for (const auto& warpgroup : warpgroups) warpgroup->check_end();
  Clock end = entry.clock();
  for (const auto& warpgroup : warpgroups) end.join(warpgroup->clock());
  if (const std::string reason = shared.leftover(end); !reason.empty()) throw InternalError(reason, print(kernel));
}

}  // namespace tessera::ir::interp
