#include <tessera/dsl/lang/grid.h>

namespace tessera::detail {

void check_grid(const std::int64_t* extents, int rank, SourceLoc loc) {
  std::int64_t tokens = 1;
  std::string text;
  for (int i = 0; i < rank; ++i) text += (i == 0 ? "" : " x ") + std::to_string(extents[i]);
  for (int i = 0; i < rank; ++i) {
    if (extents[i] < 1) {
      throw UserError(loc, "dimension " + std::to_string(i) + " of the Grid is " + std::to_string(extents[i]),
                      "every dimension has at least one token");
    }
    if (extents[i] > 2147483647 / tokens) {
      throw UserError(loc, "the Grid " + text + " has more than 2147483647 tokens",
                      "make it smaller: token indices are 32-bit integers");
    }
    tokens *= extents[i];
  }
}

}  // namespace tessera::detail
