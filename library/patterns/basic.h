// Causality, windows and keys that all queries see.
#pragma once

#include <vector>

#include <tessera/dsl/lang/mask.h>
#include <tessera/dsl/lang/param.h>
#include <tessera/library/patterns/align.h>

namespace tessera {

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

// Causal, but every query sees the first `length` keys; or the first length[b] keys of sequence b.
TESSERA_API Mask prefix(int length, Align align = Align::bottom_right, SourceLoc loc = SourceLoc::here());
TESSERA_API Mask prefix(const std::vector<int>& lengths, Align align = Align::bottom_right,
                        SourceLoc loc = SourceLoc::here());

// The first `count` keys.
TESSERA_API Mask sinks(int count, SourceLoc loc = SourceLoc::here());

// The first `count` keys and a causal window of `left` keys before the query's own place, never keys after it:
// attention sinks of streaming models, the A shape of sparse prefill.
TESSERA_API Mask sink_window(int count, int left, Align align = Align::bottom_right, SourceLoc loc = SourceLoc::here());

// The same, and all earlier keys for the last queries.
struct TriShape {
  int sinks = 64;   // first keys
  int left = 1023;  // keys of the window, before the query's own place
  int last = 100;   // queries at the end that see all keys up to their place
};
TESSERA_API Mask tri_shape(const TriShape& options, Align align = Align::bottom_right,
                           SourceLoc loc = SourceLoc::here());

// The first length[b] keys of sequence b, as a mask. Where memory behind them may hold anything, give key_lengths at
// the call instead: a mask does not keep NaN out of a product with 0.
TESSERA_API Mask padding(const std::vector<int>& lengths, SourceLoc loc = SourceLoc::here());

}  // namespace tessera
