// Whether tests run under the address sanitizer, where code takes ten times as long. What is computed they check
// without it; there sweeps take fewer of their cases, enough to go through all the code.
#pragma once

#include <cstddef>

namespace tessera::test {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

// Whether a sweep leaves out a case there, which `turn` counts: it takes one in `stride`. Of nested loops each value
// comes up as long as the stride has no factor in common with their lengths.
inline bool left_out(std::size_t& turn, std::size_t stride) {
  const std::size_t at = turn++;
  return kSanitized && at % stride != 0;
}

// The same for the innermost loop, of `length`: it takes one of each round, in each round the next.
inline bool left_out_of_round(std::size_t& turn, std::size_t length) {
  const std::size_t at = turn++;
  return kSanitized && at % length != at / length % length;
}

}  // namespace tessera::test
