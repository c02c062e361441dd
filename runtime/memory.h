// Device memory. Sizes are 64-bit bytes everywhere.
#pragma once

#include <cstdint>
#include <string_view>

#include <tessera/runtime/device.h>

namespace tessera::runtime {

// The device has less memory free than was asked for. The cause has both numbers.
class OutOfMemory : public Error {
 public:
  OutOfMemory(const DeviceInfo& device, std::int64_t asked, std::int64_t free);
  std::int64_t asked() const { return asked_; }
  std::int64_t free() const { return free_; }

 private:
  std::int64_t asked_, free_;
};

// Owned device memory, 256-byte aligned. No bytes is a null address and no allocation.
class DeviceBuffer {
 public:
  DeviceBuffer(const Device& device, std::int64_t bytes);

  // In stream order: usable by later work on `stream`, and given back after the work issued there before destruction.
  // Where the device has no memory pools it is an ordinary allocation. A buffer made on a stream that is being captured
  // belongs to the graph and must be destroyed before the capture ends.
  DeviceBuffer(const Device& device, std::int64_t bytes, cu::Stream stream);

  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;

  std::uint64_t address() const { return address_; }
  void* data() const { return reinterpret_cast<void*>(address_); }
  std::int64_t bytes() const { return bytes_; }
  const Device& device() const { return device_; }

 private:
  Device device_;
  std::int64_t bytes_ = 0;
  cu::DevicePointer address_ = 0;
  cu::Stream stream_ = nullptr;
  bool stream_ordered_ = false;
};

// Copies in stream order. With pageable host memory the driver stages the copy: `from` may be reused when a copy to the
// device returns, but not while the stream is being captured, since the graph reads it at every replay; a copy to the
// host is complete when the stream has reached it.
void copy_to_device(const Device& device, std::uint64_t to, const void* from, std::int64_t bytes, cu::Stream stream);
void copy_to_host(const Device& device, void* to, std::uint64_t from, std::int64_t bytes, cu::Stream stream);
void copy_on_device(const Device& device, std::uint64_t to, std::uint64_t from, std::int64_t bytes, cu::Stream stream);
void fill(const Device& device, std::uint64_t to, unsigned char value, std::int64_t bytes, cu::Stream stream);

// The same on the null stream, complete on return.
void copy_to_device(const Device& device, std::uint64_t to, const void* from, std::int64_t bytes);
void copy_to_host(const Device& device, void* to, std::uint64_t from, std::int64_t bytes);
void fill(const Device& device, std::uint64_t to, unsigned char value, std::int64_t bytes);

}  // namespace tessera::runtime
