#include <tessera/dsl/lang/grid.h>

namespace tessera::detail {

void check_grid(const std::int64_t* extents, int rank, SourceLoc loc) {
  std::int64_t tokens = 1;
  for (int i = 0; i < rank; ++i) {
    if (extents[i] < 1) {
      throw UserError(loc, "dimension " + std::to_string(i) + " of the Grid is " + std::to_string(extents[i]),
                      "every dimension has at least one token");
    }
    tokens *= extents[i];
    if (tokens > 2147483647) {
      throw UserError(loc, "the Grid has more than 2147483647 tokens", "token indices are 32-bit integers");
    }
  }
}

}  // namespace tessera::detail
