// What all targets with warpgroups have in common.
#pragma once

namespace tessera::backend {

inline constexpr int kGroupThreads = 128;
inline constexpr int kGroupRows = 64;      // of a product
inline constexpr int kWarpRows = 16;       // of those
inline constexpr int kNamedBarriers = 15;  // of a block, beside the one of all threads

}  // namespace tessera::backend
