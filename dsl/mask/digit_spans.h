// The closed form of a tile map in any token orders: the key tiles of a query tile as boxes of tile coordinates, by
// arithmetic on the values of its digits.
//
// This is the propagation of box analysis with symbols for numbers: query digits are the first and last value that the
// tile has, key digits are free, and every constraint is solved once for each key digit in it. Each term of the
// predicate gives one box; all live keys of the tile are in some box. What a remainder leaves out is not seen: then,
// and where several query digits bound one key digit together, boxes visit tiles without a live pair.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tessera/dsl/mask/expression.h>
#include <tessera/dsl/mask/plan.h>
#include <tessera/dsl/mask/pointwise.h>

namespace tessera::mask {

inline constexpr std::size_t kMaxDigitSpans = 16;
inline constexpr std::int64_t kOpenLength = std::int64_t{1} << 27;  // lengths and scalars that the functions hold for

// `bounds` is a scalar function whose arguments are
//   i32 first, i32 last        for each query digit: the values of the tile, inclusive, cut to those there are
//   i32 head, i32 batch, i32 query_length, i32 key_length, i32 key_bound    as in Spans
//   i32 outer_first, i32 outer_last    of nested spans: values of the outermost key digit in the tile the loop is at,
//                              cut likewise
// and whose yield has, for each box and each key digit that is not bound, five values:
//   start, begin <= full_begin <= full_end <= end
// Tile t of [begin, end) covers `tile` values of the digit from start + t * tile on. A box without a digit that has
// begin == end is visited; its tiles within [full_begin, full_end) in every digit need no predicate. Boxes of several
// terms may share tiles, which belong to the first.
struct DigitSpans {
  ir::Function bounds;
  int boxes = 0;
  int digits = 0;                                    // of the key, in each box
  bool exact = true;                                 // no remainder was left out
  std::shared_ptr<const Expressions> expressions{};  // what `bounds` was made of, and of that what it yields
  std::vector<Expressions::Id> roots{};
};

struct SpanOptions {
  Anchor anchor = Anchor::grid;
  bool nested = false;      // for inside a loop over the tiles of the outermost key digit
  bool whole_keys = false;  // the keys of every call are a multiple of the outermost weight, as those of a grid are
};

// Spans for every call whose lengths and scalars are at most kOpenLength. On failure empty, and `reason` says why.
std::optional<DigitSpans> digit_spans(const Pointwise& predicate, const Order& queries, const Order& keys,
                                      const SpanOptions& options, std::string& reason);

// i1 possible, i1 certain: whether a tile can hold a live pair, and whether it holds no other. The arguments are first
// and last of each query digit, then of each key digit, then head, batch, query_length, key_length and key_bound.
// Guards spans that are too wide.
std::optional<ir::Function> tile_guard(const Pointwise& predicate, const Order& queries, const Order& keys,
                                       std::string& reason);

}  // namespace tessera::mask
