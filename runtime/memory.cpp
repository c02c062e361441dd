#include <tessera/runtime/memory.h>

#include <fmt/format.h>

#include <utility>

#include <tessera/runtime/stream.h>

namespace tessera::runtime {

namespace {

// Runs `call` in the device's context, and names the copy if it fails.
template <class Call, class... Args>
void transfer(const Device& device, std::int64_t bytes, const Call& call, Args... args) {
  if (bytes < 0) throw Error(fmt::format("{} bytes were to be copied", bytes), "give a size of 0 or more");
  if (bytes == 0) return;
  ScopedContext current(device);
  if (cu::Result result = call.status(args...); result != cu::Result::success) {
    throw DriverError(driver(), call.name(), result, fmt::format("moving {} bytes on {}", bytes, device.info().text()));
  }
}

void wait(const Device& device) {
  ScopedContext current(device);
  driver().stream_synchronize(nullptr);
}

void check_allocation(const Device& device, std::int64_t bytes, const char* call, cu::Result result) {
  if (result == cu::Result::success) return;
  if (result == cu::Result::out_of_memory) {
    std::size_t free = 0, total = 0;
    driver().mem_get_info.status(&free, &total);
    throw OutOfMemory(device.info(), bytes, static_cast<std::int64_t>(free));
  }
  throw DriverError(driver(), call, result, fmt::format("allocating {} bytes on {}", bytes, device.info().text()));
}

// An allocation of its own, also while some stream is captured: it is no part of the graph.
cu::DevicePointer allocate(const Device& device, std::int64_t bytes) {
  const OutsideCapture outside;
  cu::DevicePointer address = 0;
  const auto& call = driver().mem_alloc;
  check_allocation(device, bytes, call.name(), call.status(&address, static_cast<std::size_t>(bytes)));
  return address;
}

void check_size(std::int64_t bytes) {
  if (bytes < 0) throw Error(fmt::format("a buffer of {} bytes was asked for", bytes), "give a size of 0 or more");
}

}  // namespace

OutOfMemory::OutOfMemory(const DeviceInfo& device, std::int64_t asked, std::int64_t free)
    : Error(fmt::format("out of memory on {}: {} bytes were asked for, {} of {} are free", device.text(), asked, free,
                        device.memory_bytes),
            "free memory on the device, or use a smaller problem"),
      asked_(asked),
      free_(free) {}

DeviceBuffer::DeviceBuffer(const Device& device, std::int64_t bytes) : device_(device), bytes_(bytes) {
  check_size(bytes);
  if (bytes == 0) return;
  ScopedContext current(device_);
  address_ = allocate(device_, bytes);
}

DeviceBuffer::DeviceBuffer(const Device& device, std::int64_t bytes, cu::Stream stream)
    : device_(device), bytes_(bytes), stream_(stream), stream_ordered_(device.info().memory_pools) {
  check_size(bytes);
  if (bytes == 0) return;
  ScopedContext current(device_);
  if (stream_ordered_) {
    const auto& call = driver().mem_alloc_async;
    check_allocation(device_, bytes, call.name(), call.status(&address_, static_cast<std::size_t>(bytes), stream));
  } else {
    address_ = allocate(device_, bytes);
  }
}

DeviceBuffer::~DeviceBuffer() {
  if (!address_) return;
  // A failure here was reported by the call that caused it, or the driver is gone at the end of the process.
  const Driver& cuda = driver();
  if (cuda.ctx_push_current.status(device_.context()) != cu::Result::success) return;
  if (stream_ordered_) {
    cuda.mem_free_async.status(address_, stream_);
  } else {
    cu::CaptureMode mode = cu::CaptureMode::relaxed;
    cuda.exchange_capture_mode.status(&mode);
    cuda.mem_free.status(address_);
    cuda.exchange_capture_mode.status(&mode);
  }
  cu::Context popped = nullptr;
  cuda.ctx_pop_current.status(&popped);
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : device_(other.device_),
      bytes_(std::exchange(other.bytes_, 0)),
      address_(std::exchange(other.address_, 0)),
      stream_(other.stream_),
      stream_ordered_(other.stream_ordered_) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(bytes_, other.bytes_);
  std::swap(address_, other.address_);
  std::swap(stream_, other.stream_);
  std::swap(stream_ordered_, other.stream_ordered_);
  return *this;
}

void copy_to_device(const Device& device, std::uint64_t to, const void* from, std::int64_t bytes, cu::Stream stream) {
  transfer(device, bytes, driver().memcpy_to_device, cu::DevicePointer{to}, from, std::size_t(bytes), stream);
}

void copy_to_host(const Device& device, void* to, std::uint64_t from, std::int64_t bytes, cu::Stream stream) {
  transfer(device, bytes, driver().memcpy_to_host, to, cu::DevicePointer{from}, std::size_t(bytes), stream);
}

void copy_on_device(const Device& device, std::uint64_t to, std::uint64_t from, std::int64_t bytes, cu::Stream stream) {
  transfer(device, bytes, driver().memcpy_on_device, cu::DevicePointer{to}, cu::DevicePointer{from}, std::size_t(bytes),
           stream);
}

void fill(const Device& device, std::uint64_t to, unsigned char value, std::int64_t bytes, cu::Stream stream) {
  transfer(device, bytes, driver().memset_bytes, cu::DevicePointer{to}, value, std::size_t(bytes), stream);
}

void copy_to_device(const Device& device, std::uint64_t to, const void* from, std::int64_t bytes) {
  copy_to_device(device, to, from, bytes, nullptr);
  wait(device);
}

void copy_to_host(const Device& device, void* to, std::uint64_t from, std::int64_t bytes) {
  copy_to_host(device, to, from, bytes, nullptr);
  wait(device);
}

void fill(const Device& device, std::uint64_t to, unsigned char value, std::int64_t bytes) {
  fill(device, to, value, bytes, nullptr);
  wait(device);
}

}  // namespace tessera::runtime
