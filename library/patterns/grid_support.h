// What the definitions of patterns over a grid share.
#pragma once

#include <string>
#include <vector>

#include <tessera/dsl/lang/grid.h>
#include <tessera/library/patterns/grid_tokens.h>
#include <tessera/library/patterns/support.h>

namespace tessera::pattern {

// Coordinates of a token, outermost first.
inline std::vector<Position> coordinates(const std::vector<std::int64_t>& extents, Position token) {
  std::vector<Position> at(extents.size(), token);
  std::int64_t stride = 1;
  for (std::size_t i = extents.size(); i-- > 0; stride *= extents[i]) {
    if (stride != 1) at[i] = token / stride;
    if (i != 0) at[i] = at[i] % extents[i];
  }
  return at;
}

inline std::int64_t tokens_of(const std::vector<std::int64_t>& extents) {
  std::int64_t tokens = 1;
  for (std::int64_t n : extents) tokens *= n;
  return tokens;
}

// Whether all of `of(axis)` hold.
template <class Of>
Tile<i1> on_all_axes(std::size_t axes, const Of& of) {
  Tile<i1> all = of(0);
  for (std::size_t i = 1; i < axes; ++i) all = all && of(i);
  return all;
}

// The mask of a grid's tokens with a text beside them: what `seen` says of two tokens of the grid, and all where one is
// of the text. For calls of so many tokens.
template <class Seen>
Mask beside_text(const char* name, const std::vector<std::int64_t>& extents, const TextTokens& text, SourceLoc loc,
                 const Seen& seen) {
  const std::int64_t grid = tokens_of(extents), before = text.first ? text.count : 0;
  require(text.count >= 0 && text.count <= kMost - grid, loc,
          "the text has " + std::to_string(text.count) + " tokens, beside " + std::to_string(grid) + " of the grid",
          "give 0 to " + std::to_string(kMost - grid));
  auto predicate = [&](Position q, Position k) -> Tile<i1> {
    if (text.count == 0) return seen(q, k);
    const auto of_text = [&](Position token) {
      return Tile<i1>(text.first ? Tile<i1>(token < before) : token >= grid);
    };
    return of_text(q) || of_text(k) || seen(q - before, k - before);
  };
  const auto tokens = mask::Extent::exactly(grid + text.count);
  std::string of = "the grid " + text_of(extents);
  if (text.count != 0) of += " with " + std::to_string(text.count) + " tokens of text";
  return Mask(predicate, loc).named(name).for_lengths(std::move(of), tokens, tokens);
}

}  // namespace tessera::pattern
