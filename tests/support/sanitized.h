// Whether tests run under the address sanitizer, where code takes ten times as long. What is computed they check
// without it; there sweeps take fewer of their cases, enough to go through all the code.
#pragma once

namespace tessera::test {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace tessera::test
