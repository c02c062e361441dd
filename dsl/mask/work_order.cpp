#include <tessera/dsl/mask/work_order.h>

#include <algorithm>
#include <array>
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

void longest_first(TileList& list, std::size_t first) {
  struct Row {
    std::array<std::int32_t, TileList::kFields> fields;
    std::int64_t work() const { return 3 * std::int64_t{fields[1]} + 2 * std::int64_t{fields[2]}; }
  };
  std::vector<Row> rows((list.rows.size() - first) / TileList::kFields);
  std::int64_t most = 0, all = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto from = list.rows.begin() + static_cast<std::ptrdiff_t>(first + TileList::kFields * i);
    std::copy_n(from, TileList::kFields, rows[i].fields.begin());
    most = std::max(most, rows[i].work());
    all += rows[i].work();
  }
  if (static_cast<double>(most) * static_cast<double>(rows.size()) <= (1 + kUneven) * static_cast<double>(all)) return;
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.work() > b.work(); });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto to = list.rows.begin() + static_cast<std::ptrdiff_t>(first + TileList::kFields * i);
    std::copy(rows[i].fields.begin(), rows[i].fields.end(), to);
  }
}

ir::WorkOrder work_order_of_list(std::int64_t key_length) {
  return key_length <= kSectionKeys ? ir::WorkOrder{.section = kSection} : ir::WorkOrder{};
}

}  // namespace tessera::mask
