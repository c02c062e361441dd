// What may attend to what, by name. Each pattern is one expression of the language: read patterns.cpp to see what it
// means, and write your own the same way. Patterns and lambdas compose with & | ~:
//
//   Mask chat = causal & documents(ids);
//   Mask sink = sinks(4) | window(1023, 0);
//
// Positions are raw indices, 0 for the first query and the first key. Where queries and keys differ in number, `Align`
// says which query is next to which key. Keys that do not exist at all (padding) are no pattern: give key_lengths at
// the call, and nothing that memory holds there can reach a result.
#pragma once

#include <cstdint>
#include <vector>

#include <tessera/dsl/lang/mask.h>
#include <tessera/dsl/lang/param.h>
#include <tessera/dsl/lang/table.h>

namespace tessera {

enum class Align : std::uint8_t {
  bottom_right,  // the last query is next to the last key: query i stands at key i + key_length - query_length
  top_left,      // the first query is next to the first key: query i stands at key i
};

namespace check {
// A pattern in a lambda: its variables are lvalues, which what makes a Mask of a pattern does not pass.
template <class Q>
struct CalledWithoutAt {
  static_assert(detail::never<Q>,
                "inside a lambda a pattern needs the lengths of the call: causal(q, k, at) in a lambda of (Position q, "
                "Position k, At at); masks combine outside it, as in causal & mask");
  static constexpr bool ok = true;
};
}  // namespace check

// All keys.
struct FullPattern {
  bool operator()(Position, Position) const { return true; }
};
inline constexpr FullPattern full{};

// Keys up to the query's own place: `causal`, or causal(Align::top_left).
struct CausalPattern {
  auto operator()(Position q, Position k, At at) const { return k <= q + (at.key_length - at.query_length); }
  template <class Q>
    requires std::same_as<Q, Position>
  bool operator()(Q&, Q&) const {
    return check::CalledWithoutAt<Q>::ok;
  }
  TESSERA_API Mask operator()(Align align, SourceLoc loc = SourceLoc::here()) const;
};
inline constexpr CausalPattern causal{};

// From `left` keys before the query's own place to `right` keys after it, both included: left + 1 + right keys.
// window(1023, 0) is the causal window of 1024 keys.
TESSERA_API Mask window(int left, int right, Align align = Align::bottom_right, SourceLoc loc = SourceLoc::here());
// The same with widths that are given at the call: Param<i32> left("left", 1023).
TESSERA_API Mask window(Param<i32> left, Param<i32> right, Align align = Align::bottom_right,
                        SourceLoc loc = SourceLoc::here());

// Causal, but every query sees the first `length` keys.
TESSERA_API Mask prefix(int length, Align align = Align::bottom_right, SourceLoc loc = SourceLoc::here());

// The first `count` keys.
TESSERA_API Mask sinks(int count, SourceLoc loc = SourceLoc::here());

// The first `count` keys and a causal window of `left` keys before the query's own place, never keys after it.
TESSERA_API Mask sink_window(int count, int left, Align align = Align::bottom_right, SourceLoc loc = SourceLoc::here());

// Keys of the query's own block of `size` tokens.
TESSERA_API Mask block_diagonal(int size, SourceLoc loc = SourceLoc::here());

// Keys of the query's own document: ids[q] == ids[k]. The mask is for sequences of as many tokens as there are ids.
TESSERA_API Mask documents(const Table<i32>& ids, SourceLoc loc = SourceLoc::here());
TESSERA_API Mask documents(const std::vector<std::int32_t>& ids, SourceLoc loc = SourceLoc::here());

// The ids of documents of these lengths, one after another: {2, 3} gives 0 0 1 1 1.
TESSERA_API std::vector<std::int32_t> document_ids(const std::vector<std::int64_t>& lengths,
                                                   SourceLoc loc = SourceLoc::here());

}  // namespace tessera
