#include <algorithm>

#include <fmt/format.h>
#include <tessera/dsl/ir/interpret_shared.h>

namespace tessera::ir::interp {

void Clock::raise(std::size_t component, std::int64_t time) {
  if (component >= times_.size()) times_.resize(component + 1, 0);
  times_[component] = std::max(times_[component], time);
}

void Clock::join(const Clock& other) {
  for (std::size_t i = 0; i < other.times_.size(); ++i) raise(i, other.times_[i]);
}

std::string Barrier::state(std::int32_t ticket) const {
  const Slot& slot = slots[slot_of(ticket)];
  return fmt::format("phase {} of slot {} has {} of {} arrivals and {} of {} bytes", slot.phase, slot_of(ticket),
                     slot.arrivals, arrivals, slot.delivered, slot.expected);
}

std::int64_t shared_bytes(const Type& type) {
  if (type.dims.empty()) return bytes_of(type.dtype);
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < type.dims.size(); ++i) rows *= type.dims[i].extent;
  const std::int64_t row = static_cast<std::int64_t>(type.dims.back().extent) * bytes_of(type.dtype);
  return rows * ((row + 127) / 128) * 128;
}

int SharedMemory::add_barrier(std::string name, const Type& type) {
  Barrier barrier{std::move(name), type.arrivals, std::vector<Barrier::Slot>(static_cast<std::size_t>(type.stages))};
  barriers_.push_back(std::move(barrier));
  return static_cast<int>(barriers_.size()) - 1;
}

int SharedMemory::add_ring(std::string name, const Type& type) {
  Ring ring{std::move(name), type, components_, std::vector<Ring::Slot>(static_cast<std::size_t>(type.stages))};
  components_ += ring.slots.size();
  rings_.push_back(std::move(ring));
  return static_cast<int>(rings_.size()) - 1;
}

// Hardware counts an arrival for the phase in progress, whichever use it was meant for.
std::string SharedMemory::in_turn(const Barrier& barrier, std::int32_t ticket) const {
  if (ticket < 0) return fmt::format("ticket {} of barrier {} is negative", ticket, barrier.name);
  const Barrier::Slot& slot = barrier.slots[barrier.slot_of(ticket)];
  if (slot.phase == barrier.phase_of(ticket)) return {};
  return fmt::format("ticket {} of barrier {} belongs to phase {}, but {}", ticket, barrier.name,
                     barrier.phase_of(ticket), barrier.state(ticket));
}

std::string SharedMemory::complete(Barrier& barrier, std::int32_t ticket) {
  Barrier::Slot& slot = barrier.slots[barrier.slot_of(ticket)];
  if (slot.arrivals < barrier.arrivals) return {};
  if (slot.arrivals > barrier.arrivals || slot.delivered > slot.expected) {
    return fmt::format("barrier {} at ticket {} got more than it waits for: {}", barrier.name, ticket,
                       barrier.state(ticket));
  }
  if (slot.delivered < slot.expected) return {};
  slot.complete[static_cast<std::size_t>(slot.phase & 1)] = std::move(slot.gathered);
  slot.gathered = {};
  slot.arrivals = 0;
  slot.expected = slot.delivered = 0;
  ++slot.phase;
  return {};
}

std::string SharedMemory::arrive(Agent& agent, int object, std::int32_t ticket, std::int64_t bytes) {
  Barrier& barrier = barriers_[static_cast<std::size_t>(object)];
  if (std::string reason = in_turn(barrier, ticket); !reason.empty()) return reason;
  Barrier::Slot& slot = barrier.slots[barrier.slot_of(ticket)];
  ++slot.arrivals;
  slot.expected += bytes;
  slot.gathered.join(agent.clock);
  agent.clock.raise(agent.number, agent.clock.at(agent.number) + 1);
  return complete(barrier, ticket);
}

std::string SharedMemory::wait(Agent& agent, int object, std::int32_t ticket, int back, bool& passed) {
  const Barrier& barrier = barriers_[static_cast<std::size_t>(object)];
  passed = false;
  if (ticket < 0) return fmt::format("ticket {} of barrier {} is negative", ticket, barrier.name);
  const std::size_t s = barrier.slot_of(ticket);
  const Barrier::Slot& slot = barrier.slots[s];
  const std::int64_t phase = barrier.phase_of(ticket) - back;
  if (slot.phase <= phase) return {};
  if (slot.phase > phase + 1) {
    return fmt::format(
        "waits for phase {} of barrier {} (ticket {}) when {}: by its parity, that phase is not complete", phase,
        barrier.name, ticket, barrier.state(ticket));
  }
  passed = true;
  if (phase < 0) return {};
  agent.clock.join(slot.complete[static_cast<std::size_t>(phase & 1)]);
  agent.waited.resize(barriers_.size());
  std::vector<std::int64_t>& waited = agent.waited[static_cast<std::size_t>(object)];
  waited.resize(barrier.slots.size(), -1);
  waited[s] = std::max(waited[s], phase);
  return {};
}

std::string SharedMemory::may_fill(const Agent& agent, const Ring& ring, std::int32_t ticket) const {
  if (ticket < 0) return fmt::format("ticket {} of {} is negative", ticket, ring.name);
  const std::size_t s = ring.slot_of(ticket);
  const Ring::Slot& slot = ring.slots[s];
  if (!slot.written.empty()) return fmt::format("fills slot {} of {}, which warpgroups write", s, ring.name);
  if (slot.ticket < 0) return {};
  const std::string what = fmt::format("fills slot {} of {} for ticket {}", s, ring.name, ticket);
  if (slot.ticket >= ticket) return fmt::format("{}, which already holds ticket {}", what, slot.ticket);
  if (agent.clock.at(ring.first_component + s) < slot.copies) {
    return fmt::format("{} while the copy for ticket {} may still be in flight", what, slot.ticket);
  }
  for (const Ring::Read& read : slot.reads) {
    if (read.time < 0) return fmt::format("{} while a product still reads ticket {}", what, slot.ticket);
    if (agent.clock.at(read.agent) < read.time) {
      return fmt::format("{} without waiting until ticket {} was read", what, slot.ticket);
    }
  }
  return {};
}

std::string SharedMemory::fill(const Agent& agent, int object, std::int32_t ticket, Tile tile, int barrier_object,
                               std::int32_t barrier_ticket, std::optional<std::int64_t> bytes) {
  Ring& ring = rings_[static_cast<std::size_t>(object)];
  Barrier& barrier = barriers_[static_cast<std::size_t>(barrier_object)];
  if (std::string reason = may_fill(agent, ring, ticket); !reason.empty()) return reason;
  if (std::string reason = in_turn(barrier, barrier_ticket); !reason.empty()) return reason;
  const std::size_t s = ring.slot_of(ticket);
  Ring::Slot& slot = ring.slots[s];
  slot = {std::move(tile), ticket, barrier_object, barrier_ticket, slot.copies + 1, {}, {}};
  Barrier::Slot& phase = barrier.slots[barrier.slot_of(barrier_ticket)];
  phase.delivered += bytes.value_or(shared_bytes(ring.type));
  phase.gathered.raise(ring.first_component + s, slot.copies);
  return complete(barrier, barrier_ticket);
}

std::string SharedMemory::may_read(const Agent& agent, int object, std::int32_t ticket) const {
  const Ring& ring = rings_[static_cast<std::size_t>(object)];
  if (ticket < 0) return fmt::format("ticket {} of {} is negative", ticket, ring.name);
  const std::size_t s = ring.slot_of(ticket);
  const Ring::Slot& slot = ring.slots[s];
  const std::string what = fmt::format("reads ticket {} of {}", ticket, ring.name);
  if (slot.ticket < 0) return fmt::format("{}, but slot {} was never filled", what, s);
  if (slot.ticket < ticket) return fmt::format("{}, but slot {} still holds ticket {}", what, s, slot.ticket);
  if (slot.ticket > ticket) return fmt::format("{}, but slot {} was overwritten for ticket {}", what, s, slot.ticket);
  const Barrier& barrier = barriers_[static_cast<std::size_t>(slot.barrier)];
  const auto b = static_cast<std::size_t>(slot.barrier);
  const std::size_t barrier_slot = barrier.slot_of(slot.barrier_ticket);
  const bool waited = b < agent.waited.size() && barrier_slot < agent.waited[b].size() &&
                      agent.waited[b][barrier_slot] >= barrier.phase_of(slot.barrier_ticket);
  if (waited) return {};
  return fmt::format("{} without waiting for its copy, which completes on barrier {} at ticket {}", what, barrier.name,
                     slot.barrier_ticket);
}

void SharedMemory::begin_read(const Agent& agent, int object, std::int32_t ticket) {
  Ring& ring = rings_[static_cast<std::size_t>(object)];
  ring.slots[ring.slot_of(ticket)].reads.push_back({agent.number, -1});
}

void SharedMemory::end_read(const Agent& agent, int object, std::int32_t ticket) {
  Ring& ring = rings_[static_cast<std::size_t>(object)];
  for (Ring::Read& read : ring.slots[ring.slot_of(ticket)].reads) {
    if (read.agent != agent.number || read.time >= 0) continue;
    read.time = agent.clock.at(agent.number);
    return;
  }
}

const Tile& SharedMemory::tile(int object, std::int32_t ticket) const {
  const Ring& ring = rings_[static_cast<std::size_t>(object)];
  return ring.slots[ring.slot_of(ticket)].tile;
}

namespace {

bool overlap(const Ring::Written& written, const std::vector<int>& starts, const Tile& tile) {
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const int begin = written.starts[i], end = begin + written.tile.dims()[i].extent;
    if (starts[i] >= end || starts[i] + tile.dims()[i].extent <= begin) return false;
  }
  return true;
}

}  // namespace

std::string SharedMemory::write(const Agent& agent, int object, std::int32_t ticket, const std::vector<int>& starts,
                                Tile tile) {
  Ring& ring = rings_[static_cast<std::size_t>(object)];
  if (ticket < 0) return fmt::format("ticket {} of {} is negative", ticket, ring.name);
  Ring::Slot& slot = ring.slots[ring.slot_of(ticket)];
  const std::string what =
      fmt::format("writes rows from {} on of slot {} of {}", starts[0], ring.slot_of(ticket), ring.name);
  if (slot.ticket >= 0) return what + ", which copies fill";
  for (const Ring::Written& before : slot.written) {
    if (!overlap(before, starts, tile)) continue;
    if (before.agent != agent.number) return what + ", which belong to another warpgroup";
    if (before.sending) return what + " while a send may still read them";
  }
  std::erase_if(slot.written, [&](const Ring::Written& before) { return overlap(before, starts, tile); });
  slot.written.push_back({agent.number, starts, std::move(tile)});
  return {};
}

std::string SharedMemory::send(const Agent& agent, int object, std::int32_t ticket, const std::vector<int>& starts,
                               const Type& view, Tile& tile) {
  Ring& ring = rings_[static_cast<std::size_t>(object)];
  if (ticket < 0) return fmt::format("ticket {} of {} is negative", ticket, ring.name);
  for (Ring::Written& written : ring.slots[ring.slot_of(ticket)].written) {
    if (written.agent != agent.number || written.starts != starts || written.tile.dims() != view.dims) continue;
    written.sending = true;
    tile = written.tile;
    return {};
  }
  return fmt::format("sends rows from {} on of {}, which this warpgroup has not written as one tile", starts[0],
                     ring.name);
}

void SharedMemory::end_sends(const Agent& agent) {
  for (Ring& ring : rings_)
    for (Ring::Slot& slot : ring.slots)
      for (Ring::Written& written : slot.written)
        if (written.agent == agent.number) written.sending = false;
}

std::string SharedMemory::leftover(const Clock& end) const {
  for (const Barrier& barrier : barriers_) {
    for (std::size_t s = 0; s < barrier.slots.size(); ++s) {
      const Barrier::Slot& slot = barrier.slots[s];
      if (slot.arrivals == 0 && slot.expected == slot.delivered) continue;
      return fmt::format("barrier {} is left in the middle of a phase: {}", barrier.name,
                         barrier.state(static_cast<std::int32_t>(s)));
    }
  }
  for (const Ring& ring : rings_) {
    for (std::size_t s = 0; s < ring.slots.size(); ++s) {
      const Ring::Slot& slot = ring.slots[s];
      if (slot.copies <= end.at(ring.first_component + s)) continue;
      return fmt::format("nobody has waited for the copy for ticket {} of {}", slot.ticket, ring.name);
    }
  }
  return {};
}

}  // namespace tessera::ir::interp
