#include <tessera/dsl/mask/costs.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>

namespace tessera::mask {

namespace {

constexpr double kMostScheduled = 3e5;  // rows; more of them end together

double rate_of(const TargetCosts& costs, int query_rows) {
  for (const TargetCosts::Rate& rate : costs.rates)
    if (rate.query_rows <= query_rows) return rate.operations;
  return costs.rates.empty() ? 1 : costs.rates.back().operations;
}

double full_step(const TargetCosts& costs, int query_rows) {
  return 2.0 * query_rows * 128 * (costs.depth + costs.value) * costs.processors / rate_of(costs, query_rows);
}

// List scheduling of rows in descending order.
double scheduled(const std::vector<double>& descending, double copies, int processors) {
  std::priority_queue<double, std::vector<double>, std::greater<>> free;
  for (int i = 0; i < processors; ++i) free.push(0);
  double last = 0;
  for (double seconds : descending)
    for (double c = 0; c < copies; ++c) {
      const double end = free.top() + seconds;
      free.pop();
      free.push(end);
      last = std::max(last, end);
    }
  return last;
}

}  // namespace

std::int64_t step_keys(std::int64_t rows) { return std::max<std::int64_t>(16, (rows + 15) / 16 * 16); }

double TargetCosts::step(int query_rows, std::int64_t keys) const {
  return full_step(*this, query_rows) * (step_start + (1 - step_start) * static_cast<double>(keys) / 128);
}

double TargetCosts::masking(int query_rows, std::int64_t keys) const {
  return full_step(*this, query_rows) * mask * static_cast<double>(keys) / 128;
}

double TargetCosts::chaining(std::int64_t rows) const {
  return static_cast<double>(rows) * (2.0 * 2 * value + 8) / bytes_per_second;
}

double makespan(RowTimes rows, const TargetCosts& costs, double least_part, double part_start) {
  double sum = 0;
  for (double seconds : rows.seconds) sum += seconds * rows.copies;
  const double even = sum / costs.processors;
  if (rows.seconds.empty()) return 0;
  std::sort(rows.seconds.rbegin(), rows.seconds.rend());
  if (static_cast<double>(rows.seconds.size()) * rows.copies > kMostScheduled)
    return std::max(even, rows.seconds.front());
  double best = scheduled(rows.seconds, rows.copies, costs.processors);
  const double cap = std::max(even / 3, least_part);
  if (rows.seconds.front() > cap) {
    std::vector<double> parts;
    for (double seconds : rows.seconds) {
      const int count = static_cast<int>(std::ceil(seconds / cap));
      for (int i = 0; i < count; ++i) parts.push_back(seconds / count + (count > 1 ? part_start : 0));
    }
    std::sort(parts.rbegin(), parts.rend());
    best = std::min(best, scheduled(parts, rows.copies, costs.processors));
  }
  return std::max(best, even);
}

}  // namespace tessera::mask
