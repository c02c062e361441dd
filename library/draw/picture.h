// Views of a mask as text: for a terminal, as SVG, as PNG.
#pragma once

#include <string>
#include <vector>

#include <tessera/library/draw/tile_view.h>

namespace tessera::draw {

// A view with what is written above and below it.
struct Panel {
  TileView view;
  std::string title;
  std::vector<std::string> notes;
};

// One character a box, and what the characters mean.
std::string to_terminal(const TileView& view);

// Panels beside each other, all of the same height, with their texts.
std::string to_svg(const std::vector<Panel>& panels, const std::string& title);

// The same panels without texts.
std::string to_png(const std::vector<Panel>& panels);

}  // namespace tessera::draw
