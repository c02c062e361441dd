#include <tessera/runtime/device.h>

#include <fmt/format.h>

#include <map>
#include <mutex>

#include <tessera/runtime/stream.h>

namespace tessera::runtime {

namespace {

constexpr std::size_t zeros_bytes = 256;

int attribute(cu::Device device, cu::DeviceAttribute which) {
  int value = 0;
  driver().device_get_attribute(&value, which, device);
  return value;
}

DeviceInfo query(int ordinal, cu::Device device) {
  DeviceInfo info;
  info.ordinal = ordinal;
  char name[256] = {};
  driver().device_get_name(name, sizeof name - 1, device);
  info.name = name;
  info.major = attribute(device, cu::DeviceAttribute::compute_capability_major);
  info.minor = attribute(device, cu::DeviceAttribute::compute_capability_minor);
  info.multiprocessors = attribute(device, cu::DeviceAttribute::multiprocessor_count);
  info.shared_bytes = attribute(device, cu::DeviceAttribute::max_shared_memory_per_block_optin);
  info.l2_bytes = attribute(device, cu::DeviceAttribute::l2_cache_size);
  info.memory_pools = attribute(device, cu::DeviceAttribute::memory_pools_supported) != 0;
  std::size_t bytes = 0;
  driver().device_total_mem(&bytes, device);
  info.memory_bytes = static_cast<std::int64_t>(bytes);
  return info;
}

// On a stream of its own: the null stream is out of bounds while some other stream is captured.
cu::DevicePointer allocate_zeros() {
  const OutsideCapture outside;
  cu::DevicePointer zeros = 0;
  driver().mem_alloc(&zeros, zeros_bytes);
  cu::Stream stream = nullptr;
  driver().stream_create(&stream, static_cast<unsigned>(cu::StreamFlag::non_blocking));
  driver().memset_bytes(zeros, 0, zeros_bytes, stream);
  driver().stream_synchronize(stream);
  driver().stream_destroy(stream);
  return zeros;
}

}  // namespace

std::string DeviceInfo::text() const { return fmt::format("device {} ({}, sm_{}{})", ordinal, name, major, minor); }

int device_count() {
  if (!driver_missing().empty()) return 0;
  int count = 0;
  driver().device_get_count(&count);
  return count;
}

Device::State::State(int ordinal) {
  driver().device_get(&handle, ordinal);
  info = query(ordinal, handle);
  driver().device_primary_ctx_retain(&context, handle);
  try {
    ScopedContext current(context);
    zeros = allocate_zeros();
  } catch (...) {
    driver().device_primary_ctx_release.status(handle);
    throw;
  }
}

Device::State::~State() {
  // Failures are of no use here: at the end of the process the driver may be gone already.
  const Driver& cuda = driver();
  if (cuda.ctx_push_current.status(context) == cu::Result::success) {
    cuda.mem_free.status(zeros);
    cu::Context popped = nullptr;
    cuda.ctx_pop_current.status(&popped);
  }
  cuda.device_primary_ctx_release.status(handle);
}

Device Device::open(int ordinal) {
  driver();
  const int count = device_count();
  if (ordinal < 0 || ordinal >= count) {
    throw Error(fmt::format("device {} does not exist: the driver sees {}", ordinal, count),
                count > 0 ? fmt::format("use a device from 0 to {}", count - 1) : "run on the CPU");
  }
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<const State>> opened;
  std::lock_guard lock(mutex);
  std::shared_ptr<const State> state = opened[ordinal].lock();
  if (!state) opened[ordinal] = state = std::make_shared<const State>(ordinal);
  return Device(std::move(state));
}

void Device::synchronize() const {
  ScopedContext current(*this);
  driver().ctx_synchronize();
}

ScopedContext::ScopedContext(cu::Context context) {
  cu::Context current = nullptr;
  driver().ctx_get_current(&current);
  if (current == context) return;
  driver().ctx_push_current(context);
  pushed_ = true;
}

ScopedContext::~ScopedContext() {
  cu::Context popped = nullptr;
  if (pushed_) driver().ctx_pop_current.status(&popped);
}

bool PointerInfo::accessible_from(int device) const {
  return memory == Memory::managed || memory == Memory::host || (memory == Memory::device && ordinal == device);
}

PointerInfo describe_pointer(std::uint64_t address) {
  cu::PointerAttribute which[] = {cu::PointerAttribute::memory_type, cu::PointerAttribute::is_managed,
                                  cu::PointerAttribute::device_ordinal};
  cu::MemoryType type = cu::MemoryType::unregistered;
  unsigned managed = 0;
  int ordinal = -1;
  void* values[] = {&type, &managed, &ordinal};
  PointerInfo info;
  // The plural query answers zeros for memory that it does not know, the singular one fails.
  cu::Result result = driver().pointer_get_attributes.status(3, which, values, address);
  if (result == cu::Result::invalid_value) return info;
  if (result != cu::Result::success) throw DriverError(driver(), "cuPointerGetAttributes", result);
  if (type == cu::MemoryType::unregistered) return info;
  info.memory = managed                          ? PointerInfo::Memory::managed
                : type == cu::MemoryType::device ? PointerInfo::Memory::device
                                                 : PointerInfo::Memory::host;
  info.ordinal = ordinal < 0 ? -1 : ordinal;
  return info;
}

std::string to_string(const PointerInfo& info) {
  switch (info.memory) {
    case PointerInfo::Memory::unknown: return "host memory that the driver does not know";
    case PointerInfo::Memory::host: return "pinned host memory";
    case PointerInfo::Memory::device: return fmt::format("memory of device {}", info.ordinal);
    case PointerInfo::Memory::managed: return fmt::format("managed memory of device {}", info.ordinal);
  }
  return {};
}

int device_of_stream(cu::Stream stream) {
  cu::Context context = nullptr;
  if (stream) {
    driver().stream_get_ctx(stream, &context);
  } else {
    driver().ctx_get_current(&context);
  }
  if (!context) return -1;
  ScopedContext current(context);
  cu::Device device = 0;
  driver().ctx_get_device(&device);
  return device;
}

}  // namespace tessera::runtime
