// The tables behind radial attention.
#pragma once

#include <cstdint>
#include <vector>

#include <tessera/library/patterns/video.h>

namespace tessera::pattern {

// By the distance of two frames: how far aside a key may stand; -1: the frame is not seen.
std::vector<int> radial_widths(const Frames& video, const Radial& options);

// Which blocks of tokens are seen, row after row. A block is, when of the columns of some pair of frames that are live
// in it more than 60 % are live in more than a third of its rows.
struct RadialBlocks {
  std::int64_t count = 0;  // of a side
  std::vector<int> seen;
};
RadialBlocks radial_blocks(const Frames& video, const Radial& options, const std::vector<int>& widths, SourceLoc loc);

}  // namespace tessera::pattern
