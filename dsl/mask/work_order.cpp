#include <tessera/dsl/mask/work_order.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace tessera::mask {

namespace {

constexpr int kSection = 8;                   // heads
constexpr std::int64_t kSectionKeys = 16384;  // of a sequence: 8 heads of 128 columns and these keys are 64 MiB
constexpr double kUneven = 0.05;  // of all tiles: the least difference between the halves that is worth an order

}  // namespace

ir::WorkOrder work_order(const Counts& counts) {
  const std::int64_t growth = 2 * counts.later - counts.visited;
  if (static_cast<double>(std::llabs(growth)) <= kUneven * static_cast<double>(counts.visited)) return {};
  return {.section = kSection, .descending = growth > 0};
}

void longest_first(std::span<TileList* const> lists, std::size_t first) {
  if (lists.empty()) return;
  const std::size_t count = lists[0]->rows.size() / TileList::kFields - first;
  std::vector<std::size_t> places(count);
  std::vector<std::int64_t> work(count);
  std::int64_t most = 0, all = 0;
  for (std::size_t i = 0; i < count; ++i) {
    places[i] = i;
    for (const TileList* list : lists) {
      const TileList::Row row = list->row(first + i);
      work[i] += 3 * std::int64_t{row.partials} + 2 * std::int64_t{row.fulls};
    }
    most = std::max(most, work[i]);
    all += work[i];
  }
  if (static_cast<double>(most) * static_cast<double>(count) <= (1 + kUneven) * static_cast<double>(all)) return;
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return work[a] > work[b]; });
  for (TileList* list : lists) {
    const auto begin = list->rows.begin() + static_cast<std::ptrdiff_t>(first * TileList::kFields);
    const std::vector<std::int32_t> before(begin, list->rows.end());
    for (std::size_t i = 0; i < count; ++i)
      std::copy_n(before.begin() + static_cast<std::ptrdiff_t>(places[i] * TileList::kFields), TileList::kFields,
                  begin + static_cast<std::ptrdiff_t>(i * TileList::kFields));
  }
}

ir::WorkOrder work_order_of_list(std::int64_t key_length) {
  return key_length <= kSectionKeys ? ir::WorkOrder{.section = kSection} : ir::WorkOrder{};
}

}  // namespace tessera::mask
