#include <tessera/dsl/mask/work_order.h>

#include <cstdlib>

namespace tessera::mask {

namespace {

constexpr int kSection = 8;       // heads
constexpr double kUneven = 0.05;  // of all tiles: the least difference between the halves that is worth an order

}  // namespace

ir::WorkOrder work_order(const Counts& counts) {
  const std::int64_t growth = 2 * counts.later - counts.visited;
  if (static_cast<double>(std::llabs(growth)) <= kUneven * static_cast<double>(counts.visited)) return {};
  return {.section = kSection, .descending = growth > 0};
}

}  // namespace tessera::mask
