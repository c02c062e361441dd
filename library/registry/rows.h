// The rows of the registry, a family a function.
#pragma once

#include <vector>

#include <tessera/library/registry.h>

namespace tessera::registry {

inline constexpr SourceLoc kNowhere{};  // the user's text has no line

extern const PatternParameter kAlign, kCausal;

// The mask, and with `--causal` only its keys up to the query's own place.
Mask with_causal(Mask mask, const PatternValues& values, Align align = Align::bottom_right);

std::vector<Pattern> basic_patterns();
std::vector<Pattern> block_patterns();
std::vector<Pattern> strided_patterns();
std::vector<Pattern> packed_patterns();
std::vector<Pattern> grid_patterns();
std::vector<Pattern> video_patterns();

}  // namespace tessera::registry
