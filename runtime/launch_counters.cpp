#include <tessera/runtime/launch_counters.h>

#include <map>

#include <tessera/runtime/stream.h>

namespace tessera::runtime {

namespace {

constexpr std::int64_t kChunkBytes = 1 << 16;
constexpr std::int64_t kCounterBytes = 32;  // a sector of L2: counters in use at a time do not meet there

}  // namespace

LaunchCounters& LaunchCounters::of(const Device& device) {
  static std::mutex mutex;
  static auto* const all = new std::map<int, std::unique_ptr<LaunchCounters>>;  // launches may outlive main
  const std::lock_guard lock(mutex);
  std::unique_ptr<LaunchCounters>& mine = (*all)[device.ordinal()];
  if (!mine) mine = std::make_unique<LaunchCounters>(device);
  return *mine;
}

std::uint64_t LaunchCounters::counter_for(cu::Stream stream) {
  const bool captured = may_be_capturing(stream);
  unsigned long long identity = 0;
  if (!captured) driver().stream_get_id(stream, &identity);
  const std::lock_guard lock(mutex_);
  if (captured) return fresh();
  std::uint64_t& counter = of_stream_[identity];
  if (!counter) counter = fresh();
  return counter;
}

std::uint64_t LaunchCounters::fresh() {
  if (chunks_.empty() || used_ == kChunkBytes) {
    const OutsideCapture outside;
    DeviceBuffer chunk(device_, kChunkBytes);
    const Stream stream(device_);  // the null stream is out of bounds while some other stream is captured
    fill(device_, chunk.address(), 0, kChunkBytes, stream.get());
    stream.synchronize();
    chunks_.push_back(std::move(chunk));
    used_ = 0;
  }
  used_ += kCounterBytes;
  return chunks_.back().address() + static_cast<std::uint64_t>(used_ - kCounterBytes);
}

}  // namespace tessera::runtime
