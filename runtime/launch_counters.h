// Counters in device memory for kernels whose blocks take their work from one: 0 before a launch and after it.
//
// Launches on one stream run one after the other and share a counter. Streams run side by side and have one each, by
// the identity that the driver gives a stream, which is never used again. A launch that is captured into a graph gets a
// counter of its own, which it keeps: the graph may be replayed beside anything but itself. Executable graphs made from
// one capture share it, as they share the outputs that they write, and must not run at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <tessera/runtime/memory.h>

namespace tessera::runtime {

class LaunchCounters {
 public:
  // Those of a device: one set a process, which lives as long as it does.
  static LaunchCounters& of(const Device& device);

  // Address of the i32 that a launch on `stream` may use, in a context that is current. Thread-safe. Allocates now and
  // then, also while a stream is being captured; throws OutOfMemory.
  std::uint64_t counter_for(cu::Stream stream);

  explicit LaunchCounters(const Device& device) : device_(device) {}
  LaunchCounters(const LaunchCounters&) = delete;

 private:
  std::uint64_t fresh();

  Device device_;
  std::mutex mutex_;
  std::unordered_map<unsigned long long, std::uint64_t> of_stream_;  // by the stream's identity
  std::vector<DeviceBuffer> chunks_;
  std::int64_t used_ = 0;  // bytes of the last chunk
};

}  // namespace tessera::runtime
