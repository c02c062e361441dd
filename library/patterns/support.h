// What the definitions of patterns share.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include <tessera/dsl/lang/mask.h>
#include <tessera/library/patterns/align.h>

namespace tessera::pattern {

inline constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();  // positions are 32-bit integers

inline void require(bool condition, SourceLoc loc, const std::string& cause, const std::string& remedy) {
  if (!condition) throw UserError(loc, cause, remedy);
}

// Where a query stands among the keys.
inline Position place(Position q, const At& at, Align align) {
  return align == Align::bottom_right ? Position(q + (at.key_length - at.query_length)) : q;
}

// Which of `count` the head has, where heads have them in turn.
inline Position in_turn(Position head, std::int64_t count) { return count == 1 ? Position(0) : Position(head % count); }

// A product of two sizes that are at least 0; one more than any size where it does not fit 32 bits.
inline std::int64_t product(std::int64_t a, std::int64_t b) { return a != 0 && b > kMost / a ? kMost + 1 : a * b; }

// "30 x 48 x 80"
std::string text_of(const std::vector<std::int64_t>& extents);

}  // namespace tessera::pattern
