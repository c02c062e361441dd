// What an architecture can do, one row each. No other file asks for an architecture by number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::backend {

struct Target {
  std::string name;                     // "sm_90a": LLVM's -mcpu, ptxas's -arch
  int capability = 0;                   // 90: compute capability * 10 of the devices that run it
  std::string ptx_features;             // LLVM's -mattr: "+ptx86"
  int shared_bytes = 0;                 // one block's limit, opted in
  int registers = 65536;                // of a multiprocessor, 32 bits each
  bool has_tensor_copies = false;       // TMA and mbarriers
  bool has_warpgroup_products = false;  // wgmma
  bool supported = false;               // code can be generated; the others are rows that say what is missing
  int thread_registers = 256;           // one thread's limit
  int register_step = 8;                // registers are given to threads in multiples of it
  int copy_registers = 24;              // what a thread that only issues copies needs at least
};

// What each of so many blocks that a multiprocessor runs at once has of it.
Target share_of(const Target& target, int blocks);

// Registers of each thread of a block when it starts: an equal share, of which roles may then trade.
inline int entry_registers(const Target& target, int threads) {
  const int share = target.registers / threads / target.register_step * target.register_step;
  return share < target.thread_registers ? share : target.thread_registers;
}

// Registers a thread after that trade, for one warpgroup that copies, which needs so many, and `computing` others. What
// they hold together never exceeds what the block started with: setmaxnreg would wait for the rest for ever.
struct RegisterBudget {
  int copying = 0, computing = 0;
};
RegisterBudget register_budget(const Target& target, int computing, int to_copy = 0);

const std::vector<Target>& targets();
// UserError that lists the supported names.
const Target& target_named(std::string_view name);
// The row for a device of this compute capability; UserError when there is none or it is not supported yet.
const Target& target_for(int capability);

struct TileShape {
  int query = 0, key = 0;
  friend bool operator==(const TileShape&, const TileShape&) = default;
};

// Attention's costs are said twice, for two questions. TileCandidate: which of a few shapes do the generated kernels
// run fastest with? These are ratios, measured on those kernels shape by shape, since registers and overlap decide,
// which no formula of sizes knows. AttentionCosts: how long would tiles of any size take, those of token orders among
// them that no kernel was measured with? These are seconds, by a formula of rows and keys.

// A shape that attention of some widths runs well with, and what visiting one key tile costs, beside the others of the
// same widths. Full tiles are as measured in dense attention. Partial ones cost 1.3 of them, as a profile of a window
// says at 128 columns; at 64 the same is assumed. A query tile costs kStart full tiles more than those it visits.
struct TileCandidate {
  TileShape tile;
  double full = 1, partial = 1;
};
inline constexpr double kStart = 1.4;

// The first is for programs that do more than apply a mask whose tiles are one run of a closed form: several runs,
// lists and the tables that their predicates mostly read, bounds on the keys and score functions need registers.
std::vector<TileCandidate> tile_candidates(int head_dim, int value_dim, const Target& target);

// A step is a query tile's visit to 128 keys.
struct AttentionCosts {
  // Operations a second of the whole device in full tiles of so many rows.
  struct Rate {
    int query_rows;
    double operations;
    int key_rows = 128;  // of a key tile, at most: of more there are no registers
  };
  std::vector<Rate> rates;  // by rows, most first
  double step_start = 0;    // of a step: the part that does not grow with its keys
  double mask = 0;          // of a step: what a predicate adds
  double row_start = 0;     // steps that a query tile costs beside those over its keys
  int processors = 0;
  double launch_seconds = 0, bytes_per_second = 0;
};
// Of the largest device of the target that was measured: an H200.
AttentionCosts attention_costs(int head_dim, int value_dim, const Target& target);

}  // namespace tessera::backend
