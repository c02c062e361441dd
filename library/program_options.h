// What a Program's options must say about the axes of its kernel, checked before anything is tiled: an axis that is
// misspelt or forgotten would otherwise be found by whichever pass comes to need it.
#pragma once

#include <string>
#include <vector>

#include <tessera/dsl/passes/tile_by_mask.h>
#include <tessera/library/program.h>

namespace tessera::library {

// Of Query and Key in programs with a mask, where the options give none.
inline constexpr int kDefaultTile = 128;

struct ProgramTiles {
  passes::Tiling tiling;
  std::vector<ir::Axis> defaulted;  // axes of tiling.tiles that got kDefaultTile

  int tile(const char* axis) const;  // kDefaultTile for axes without one: they count as one tile
};

// UserErrors: axes that the kernel does not have, that are given twice or in the wrong list, extents out of range, axes
// that are not given.
ProgramTiles check_tiles(const ir::Kernel& traced, const ProgramOptions& options, SourceLoc loc);

std::string to_text(const ProgramTiles& tiles);  // "Query 64, Key 128 (default); whole Depth 64"

}  // namespace tessera::library
