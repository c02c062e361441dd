#include <tessera/library/bench/launch_timer.h>

#include <algorithm>
#include <chrono>

namespace tessera::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUp = 5, kLeast = 7;
constexpr double kSingleBudgetMs = 250, kSustainedMs = 250;

int launches_within(double budget_ms, double one_ms, int most) {
  if (one_ms <= 0) return most;
  const double count = std::min(budget_ms / one_ms, static_cast<double>(most));
  return std::max(static_cast<int>(count), std::min(kLeast, most));
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

LaunchTimer::LaunchTimer(const runtime::Device& device)
    : stream_(device), flush_(device, 4 * std::int64_t{device.info().l2_bytes}), begin_(device), end_(device) {}

double LaunchTimer::once(const Launch& launch, double& host_us) const {
  if (flush_.bytes() > 0) runtime::fill(flush_.device(), flush_.address(), 0, flush_.bytes(), stream_.get());
  begin_.record(stream_.get());
  const Clock::time_point before = Clock::now();
  launch();
  host_us = std::chrono::duration<double, std::micro>(Clock::now() - before).count();
  end_.record(stream_.get());
  end_.synchronize();
  return end_.milliseconds_since(begin_);
}

LaunchTimes LaunchTimer::single(const Launch& launch, int most) const {
  double host_us = 0;
  std::vector<double> ms, us;
  for (int i = 0; i < kWarmUp; ++i) ms.push_back(once(launch, host_us));
  const int count = launches_within(kSingleBudgetMs, median(ms), most);
  ms.clear();
  for (int i = 0; i < count; ++i) {
    ms.push_back(once(launch, host_us));
    us.push_back(host_us);
  }
  return {median(ms), *std::min_element(ms.begin(), ms.end()), median(us), count};
}

double LaunchTimer::sustained_ms(const Launch& launch, double single_ms) const {
  constexpr int most = 1000;
  const int count = launches_within(kSustainedMs, single_ms, most);
  begin_.record(stream_.get());
  for (int i = 0; i < count; ++i) launch();
  end_.record(stream_.get());
  end_.synchronize();
  return double{end_.milliseconds_since(begin_)} / count;
}

}  // namespace tessera::bench
