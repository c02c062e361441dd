// Times of launches on a device, by its own events.
//
// One launch at a time: the device is idle when it begins, so its clock is that of a kernel called now and then. Before
// each, memory larger than the L2 cache is written: what a kernel reads comes from memory, and the host is done with
// the launch before the device gets to it. Sustained times are of launches back to back, as the card's power allows.
#pragma once

#include <functional>
#include <vector>

#include <tessera/runtime/memory.h>
#include <tessera/runtime/stream.h>

namespace tessera::bench {

double median(std::vector<double> values);  // 0 of none

struct LaunchTimes {
  double median_ms = 0, best_ms = 0;
  double host_us = 0;  // median of what a launch takes the calling thread
  int launches = 0;
};

class LaunchTimer {
 public:
  using Launch = std::function<void()>;  // enqueues on stream()

  explicit LaunchTimer(const runtime::Device& device);

  void* stream() const { return stream_.get(); }

  // At most `most` launches after the warm-up, and fewer, but some, where they take long.
  LaunchTimes single(const Launch& launch, int most) const;
  double sustained_ms(const Launch& launch, double single_ms) const;

 private:
  double once(const Launch& launch, double& host_us) const;

  runtime::Stream stream_;
  runtime::DeviceBuffer flush_;
  runtime::Event begin_, end_;
};

}  // namespace tessera::bench
