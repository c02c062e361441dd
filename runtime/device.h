// GPUs: what they can do, their primary contexts, and which of them a pointer or a stream belongs to.
//
// We live in the primary context of a device, as the CUDA runtime, PyTorch and Triton do, so their pointers and streams
// work here. A call of ours makes it current only while it needs it: what was current before is current after.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <tessera/runtime/driver.h>

namespace tessera::runtime {

struct DeviceInfo {
  int ordinal = 0;
  std::string name;
  int major = 0;  // compute capability
  int minor = 0;
  int multiprocessors = 0;
  int shared_bytes = 0;  // that one block may use, with opt-in
  int l2_bytes = 0;
  std::int64_t memory_bytes = 0;  // all of it, free or not
  bool memory_pools = false;      // allocations in stream order

  std::string text() const;  // "device 0 (NVIDIA H200, sm_90)"
};

// Devices the driver sees; 0 where there is no driver.
int device_count();

// A device with its primary context retained. Copies share it; the last one releases it.
class Device {
 public:
  static Device open(int ordinal);  // throws NoDriver, or Error for an ordinal that does not exist

  const DeviceInfo& info() const { return state_->info; }
  int ordinal() const { return state_->info.ordinal; }
  cu::Context context() const { return state_->context; }

  // 256 readable zero bytes on the device, for tensor maps of tensors without elements.
  std::uint64_t zeros() const { return state_->zeros; }

  // Waits for all work on the device.
  void synchronize() const;

  friend bool operator==(const Device& a, const Device& b) { return a.ordinal() == b.ordinal(); }

 private:
  struct State {
    explicit State(int ordinal);
    ~State();
    State(const State&) = delete;

    DeviceInfo info;
    cu::Device handle = 0;
    cu::Context context = nullptr;
    cu::DevicePointer zeros = 0;
  };
  explicit Device(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

// Makes a context current for a scope. Costs one query where it already is.
class ScopedContext {
 public:
  explicit ScopedContext(const Device& device) : ScopedContext(device.context()) {}
  explicit ScopedContext(cu::Context context);
  ~ScopedContext();
  ScopedContext(const ScopedContext&) = delete;

 private:
  bool pushed_ = false;
};

struct PointerInfo {
  enum class Memory { unknown, host, device, managed };  // unknown: plain host memory, or no memory at all
  Memory memory = Memory::unknown;
  int ordinal = -1;  // of the device it was allocated or registered on; -1 if unknown

  // Whether kernels on `device` may use the pointer. Another device's memory needs peer access, which we don't set up.
  bool accessible_from(int device) const;
};

PointerInfo describe_pointer(std::uint64_t address);
inline PointerInfo describe_pointer(const void* pointer) {
  return describe_pointer(reinterpret_cast<std::uint64_t>(pointer));
}

// "host memory the driver does not know", "memory of device 1", ... for messages.
std::string to_string(const PointerInfo& info);

// The device of a stream. The null stream belongs to the current context: -1 if there is none.
int device_of_stream(cu::Stream stream);

}  // namespace tessera::runtime
