// The shared memory of one block (stage placed): rings of tiles and rings of barriers that notice every misuse.
//
// Whether two accesses are ordered does not depend on how warpgroups happened to take turns. Every warpgroup has a
// vector clock; barriers carry clocks from those that arrive to those that wait; a copy has a component of its own,
// which only the phase that it completes hands on. An access is right if what it must come after is in the clock of who
// makes it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <tessera/dsl/ir/interpret_value.h>

namespace tessera::ir::interp {

class Clock {
 public:
  std::int64_t at(std::size_t component) const { return component < times_.size() ? times_[component] : 0; }
  void raise(std::size_t component, std::int64_t time);
  void join(const Clock& other);

 private:
  std::vector<std::int64_t> times_;
};

// A ring of mbarriers. Phases count up; the parity that hardware waits for is the phase's lowest bit.
struct Barrier {
  struct Slot {
    std::int64_t phase = 0;                    // the one in progress: all before it are complete
    int arrivals = 0;                          // in that phase
    std::int64_t expected = 0, delivered = 0;  // bytes
    Clock gathered;                            // of those that arrived
    std::array<Clock, 2> complete;             // of the last two complete phases, by parity
  };
  std::string name;
  int arrivals = 1;  // that complete a phase
  std::vector<Slot> slots;

  std::size_t slot_of(std::int32_t ticket) const { return static_cast<std::size_t>(ticket) % slots.size(); }
  std::int64_t phase_of(std::int32_t ticket) const { return ticket / static_cast<std::int64_t>(slots.size()); }
  std::string state(std::int32_t ticket) const;  // "phase 3 of slot 1 has 1 of 2 arrivals and 0 of 32768 bytes"
};

// A warpgroup as shared memory knows it.
struct Agent {
  std::size_t number;
  std::string name;  // "consumer 1"
  Clock clock{};
  std::vector<std::vector<std::int64_t>>
      waited{};  // highest phase it has itself waited for, by barrier and slot; -1: none
};

struct Ring {
  // A read that is not a product's, or a product's once it was waited for, has a time; before that it is in flight.
  struct Read {
    std::size_t agent;
    std::int64_t time;  // -1: in flight
  };
  // What a warpgroup has written of a slot: only it may write there again, and not while a send reads it.
  struct Written {
    std::size_t agent;
    std::vector<int> starts;
    Tile tile;
    bool sending = false;
  };
  struct Slot {
    Tile tile;
    std::int64_t ticket = -1;  // the use it was filled for last; -1: never filled
    int barrier = -1;          // whose phase completes when the copy has landed
    std::int32_t barrier_ticket = 0;
    std::int64_t copies = 0;
    std::vector<Read> reads;  // of this use
    std::vector<Written> written;
  };
  std::string name;
  Type type;
  std::size_t first_component = 0;  // of clocks: one a slot
  std::vector<Slot> slots;

  std::size_t slot_of(std::int32_t ticket) const { return static_cast<std::size_t>(ticket) % slots.size(); }
};

// Methods that return a string return what is wrong, or nothing.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t agents) : components_(agents) {}

  int add_barrier(std::string name, const Type& type);
  int add_ring(std::string name, const Type& type);
  const Barrier& barrier(int object) const { return barriers_[static_cast<std::size_t>(object)]; }
  const Ring& ring(int object) const { return rings_[static_cast<std::size_t>(object)]; }

  std::string arrive(Agent& agent, int barrier, std::int32_t ticket, std::int64_t bytes);
  // Sets `passed` if phase (that of `ticket`, `back` uses of the slot earlier) is complete.
  std::string wait(Agent& agent, int barrier, std::int32_t ticket, int back, bool& passed);
  // A copy of `tile` into the use `ticket` of a ring, which completes its bytes on a barrier: `bytes` where only part
  // of the tile is copied.
  std::string fill(const Agent& agent, int ring, std::int32_t ticket, Tile tile, int barrier,
                   std::int32_t barrier_ticket, std::optional<std::int64_t> bytes = {});

  std::string may_read(const Agent& agent, int ring, std::int32_t ticket) const;
  void begin_read(const Agent& agent, int ring, std::int32_t ticket);  // by a product
  void end_read(const Agent& agent, int ring, std::int32_t ticket);    // it was waited for
  const Tile& tile(int ring, std::int32_t ticket) const;

  // Tiles on their way from registers to global memory: parts of slots that no copy fills, from row `starts` on.
  std::string write(const Agent& agent, int ring, std::int32_t ticket, const std::vector<int>& starts, Tile tile);
  std::string send(const Agent& agent, int ring, std::int32_t ticket, const std::vector<int>& starts, const Type& view,
                   Tile& tile);
  void end_sends(const Agent& agent);

  // At the end of the block, given the clocks of all agents joined: a barrier in the middle of a phase, or a copy that
  // nobody has waited for, which may land in the memory of another block.
  std::string leftover(const Clock& end) const;

 private:
  std::string in_turn(const Barrier& barrier, std::int32_t ticket) const;
  std::string complete(Barrier& barrier, std::int32_t ticket);
  std::string may_fill(const Agent& agent, const Ring& ring, std::int32_t ticket) const;

  std::vector<Barrier> barriers_;
  std::vector<Ring> rings_;
  std::size_t components_;  // of clocks so far
};

// Bytes that a tile takes in shared memory: rows of its last axis, padded to a multiple of 128 bytes.
std::int64_t shared_bytes(const Type& type);

}  // namespace tessera::ir::interp
