// Tokens of a text beside those of a grid, as a prompt's: they see all and are seen by all.
#pragma once

#include <cstdint>

namespace tessera {

struct TextTokens {
  std::int64_t count = 0;
  bool first = false;  // before the grid's tokens; else after them
};

}  // namespace tessera
