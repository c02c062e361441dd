// Random predicates from a grammar, the same for a seed everywhere.
#pragma once

#include <cstdint>

#include "dsl/mask/predicates.h"

namespace tessera::testing {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 0x2545f4914f6cdd1dull) {}
  std::int64_t below(std::int64_t n) {
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
    return static_cast<std::int64_t>((state_ >> 11) % static_cast<std::uint64_t>(n));
  }
  std::int64_t between(std::int64_t lo, std::int64_t hi) { return lo + below(hi - lo + 1); }

 private:
  std::uint64_t state_;
};

// `depth`: of the boolean tree. Tables are shorter and longer than the axes, their indices run past both ends.
mask::Pointwise random_mask(std::uint64_t seed, int depth);

// Only comparisons that a closed form can be solved from.
mask::Pointwise random_closed_form(std::uint64_t seed);

}  // namespace tessera::testing
