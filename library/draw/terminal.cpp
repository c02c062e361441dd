#include <fmt/format.h>

#include <tessera/library/draw/picture.h>

namespace tessera::draw {

std::string to_terminal(const TileView& view) {
  constexpr const char* marks[] = {"·", "▒", "█"};
  std::string text;
  for (std::int64_t row = 0; row < view.rows; ++row) {
    for (std::int64_t column = 0; column < view.columns; ++column)
      text += marks[static_cast<int>(view.at(row, column))];
    text += '\n';
  }
  return text +
         fmt::format("rows are queries, columns keys; a mark is {} x {} of them: {} all live, {} some, {} none\n",
                     view.query_tile, view.key_tile, marks[2], marks[1], marks[0]);
}

}  // namespace tessera::draw
