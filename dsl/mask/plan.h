// A Plan says which tiles a masked kernel visits, in what order, and which of them need the predicate.
//
// Plan -> passes -> key sources. A pass is one query order (how query tiles are cut out of the tokens); a source is one
// key order with the tiles it visits. The key tiles of a query tile come as
//   spans  a closed form: a few intervals of key tiles, computed in the kernel from the query tile's index, the lengths
//          and the mask's run-time scalars. No memory, no dependence on the lengths it was planned for;
//   list   CSR arrays made on the host for these lengths, read by the kernel. Any predicate.
// Either way the kernel has one loop over partial tiles, which evaluate the predicate, and one over full tiles.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <tessera/dsl/ir/ir.h>

namespace tessera::mask {

struct Pointwise;

using ir::Order;  // ir/order.h: how tiles are cut out of the tokens of an axis
using ir::OrderDigit;
using ir::to_string;

// Key tiles of a query tile as `count` disjoint spans: boxes of tiles, an interval for each digit of the key order.
// `bounds` is a scalar function whose arguments are
//   i32 first, i32 last      for each digit of the query order: its values in the tile, inclusive, clipped to those the
//                            digit has. In identity orders they are the tile's query tokens
//   i32 head, i32 batch, i32 query_length, i32 key_length (the predicate's own symbols)
//   i32 key_bound            where the program's keys end: its bound if it has one, else key_length
// and whose yield has, for each span and in it for each digit of the key order, four indices of *tiles* along the
// digit: begin <= full_begin <= full_end <= end. Tiles that are in [full_begin, full_end) in every digit need no
// predicate; they hold no places that are no token, but for the rows that pad an order's tiles. Two of the four are the
// same value where they are equal for all tiles. A bound cuts spans off at key_bound but does not move the predicate:
// causal masks stay aligned to key_length.
struct Spans {
  ir::Function bounds;
  int count = 1;
  bool bounded = false;  // made for programs that bound their keys; if not, key_bound is not read
};

// CSR over (class, query tile), for the lengths it was made for; the kernel takes the arrays as tables.
// Row r = class * query_tiles + place reads
//   rows[r] = {first entry, partial count, full count, query tile}
//   tiles[first entry ...] = partial ids, then full ids, each ascending.
// Places are the order in which query tiles are taken: where they differ in work, those with most of it come first. It
// is one for all lists of a pass.
struct TileList {
  static constexpr std::size_t kFields = 4;
  struct Row {
    std::int32_t first, partials, fulls, query_tile;
  };
  Row row(std::size_t r) const {
    const std::int32_t* fields = rows.data() + kFields * r;
    return {fields[0], fields[1], fields[2], fields[3]};
  }

  std::vector<std::int32_t> rows;  // kFields a row
  std::vector<std::int32_t> tiles;
  std::vector<std::int32_t> class_of;  // [batch * heads + head]; empty when there is one class
};

struct Counts {
  std::int64_t total = 0, visited = 0, full = 0, partial = 0;  // tiles, summed over query tiles, heads and batch
  std::int64_t later = 0;                                      // of those visited: by the later half of the query tiles
};

// Where key tiles start: at multiples of their size less the origin, or at the first key that the query tile sees.
enum class Anchor : std::uint8_t { grid, row };

struct Source {
  Order keys;
  std::variant<Spans, TileList> schedule;
  Counts counts;
  std::shared_ptr<const Pointwise> part{};  // of the predicate, with all its parameters: what partial tiles ask instead
                                            // of it. Parts of a plan are disjoint; null: all of the predicate
  Anchor anchor = Anchor::grid;
};
struct Pass {
  Order queries;
  std::vector<Source> sources;
  ir::WorkOrder order{};  // in which programs are taken (work_order.h)
};
struct Plan {
  std::vector<Pass> passes;
  std::string reason;  // why spans were not possible: the sub-expression, in the user's terms; empty for spans
  Counts counts() const;
};

// A kernel is made of a plan with one pass, and of a chain one kernel a pass: InternalError, with what this plan has
// instead. All that takes a plan apart goes through its passes and sources, and asks this first where it cannot yet.
void check_supported(const Plan& plan);

}  // namespace tessera::mask
