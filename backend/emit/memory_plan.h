// Where everything in a block's dynamic shared memory lies: tile rings, then mbarriers, then scratch.
//
// A tile of R rows and C columns of 16-bit elements lies in chunks of 64 columns, chunk after chunk, each R x 128 bytes
// and swizzled over 1024-byte atoms, so every tile starts at a multiple of 1024. Scratch is what reductions across
// warps and changes of layout exchange elements through: one area for each warpgroup that computes, reused by every
// such op.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include <tessera/dsl/ir/ir.h>

namespace tessera::backend {

// Tiles in shared memory are cut into chunks of so many columns, whose rows are as long as the swizzle: 128 bytes of
// 16-bit elements.
inline constexpr int kChunkColumns = 64, kRowBytes = 2 * kChunkColumns;

// One `alloc`: a ring of tiles or of mbarriers.
struct Ring {
  int offset = 0;       // bytes from the start of shared memory
  int stage_bytes = 0;  // from one stage to the next
  int stages = 1;
  int arrivals = 0;  // barriers
  int rows = 0;      // tiles
  int chunks = 0;    // tiles
  int chunk_bytes() const { return rows * kRowBytes; }
};

// How the role that takes programs tells the others which.
struct MailboxPlan {
  static constexpr int kPlaces = 2;
  int words = 0, full = 0, empty = 0;  // offsets of an i32 and two mbarriers a place
  int readers = 0;                     // warpgroups
};

struct MemoryPlan {
  std::unordered_map<std::uint32_t, Ring> rings;  // by the id of the alloc's value
  std::vector<std::uint32_t> barriers;            // ids of the barrier rings, in program order
  std::optional<MailboxPlan> mailbox{};           // of kernels whose blocks take programs
  int scratch = 0;                                // offset of the first area
  int scratch_bytes = 0;                          // of one area; 0 when no op needs it
  std::vector<int> first_area{};                  // by role: the area of its first warpgroup; -1: it has none
  int total = 0;
};

MemoryPlan plan_memory(const ir::Kernel& kernel);

// A role that issues copies is run by one elected thread of each of its warpgroups: it holds no tiles.
bool is_producer(const ir::Op& role);

// Bytes of scratch `op` exchanges; 0 for ops that stay in registers.
int scratch_of(const ir::Kernel& kernel, const ir::Op& op);

}  // namespace tessera::backend
