#include <tessera/dsl/mask/work_order.h>

#include <cstdlib>

namespace tessera::mask {

namespace {

constexpr int kSection = 8;       // heads
constexpr double kUneven = 0.05;  // of all tiles: the least difference between the halves that is worth an order

}  // namespace

ir::WorkOrder work_order(const Pass& pass) {
  std::int64_t visited = 0, later = 0;
  for (const Source& source : pass.sources) visited += source.counts.visited, later += source.counts.later;
  const std::int64_t growth = 2 * later - visited;
  if (static_cast<double>(std::llabs(growth)) <= kUneven * static_cast<double>(visited)) return {};
  return {.section = kSection, .descending = growth > 0};
}

}  // namespace tessera::mask
