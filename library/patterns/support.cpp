#include <tessera/library/patterns/support.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::pattern {

std::string text_of(const std::vector<std::int64_t>& extents) { return fmt::format("{}", fmt::join(extents, " x ")); }

}  // namespace tessera::pattern
