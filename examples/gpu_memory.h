// GPU memory and a stream, for a lesson that has neither. In a program of yours they come from CUDA or from a
// framework; here they come from the driver, opened at run time, so that the lesson builds and starts on any machine.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace example {

// The first GPU, if Tessera has kernels for it.
class Gpu {
 public:
  Gpu() : driver_(dlopen("libcuda.so.1", RTLD_NOW)) { missing_ = open(); }
  Gpu(const Gpu&) = delete;
  ~Gpu() {
    if (!missing_.empty()) return;
    call("cuStreamDestroy_v2", stream_);
    for (unsigned long long address : memory_) call("cuMemFree_v2", address);
    call("cuDevicePrimaryCtxRelease_v2", device_);
  }

  const std::string& missing() const { return missing_; }  // why there is none; empty where there is
  void* stream() const { return stream_; }
  void wait() const { need("cuStreamSynchronize", stream_); }

  // Memory with a copy of `host`, which lives as long as this does.
  template <class T>
  void* upload(const std::vector<T>& host) {
    unsigned long long address = 0;
    need("cuMemAlloc_v2", &address, host.size() * sizeof(T));
    memory_.push_back(address);
    need("cuMemcpyHtoD_v2", address, static_cast<const void*>(host.data()), host.size() * sizeof(T));
    return reinterpret_cast<void*>(address);
  }
  template <class T>
  void download(std::vector<T>& host, const void* from) const {
    const auto address = static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(from));
    need("cuMemcpyDtoH_v2", static_cast<void*>(host.data()), address, host.size() * sizeof(T));
  }

 private:
  std::string open() {
    constexpr int kComputeCapabilityMajor = 75;
    if (!driver_) return "there is no NVIDIA driver";
    int major = 0;
    if (call("cuInit", 0u) != 0 || call("cuDeviceGet", &device_, 0) != 0) return "the driver has no GPU";
    if (call("cuDeviceGetAttribute", &major, kComputeCapabilityMajor, device_) != 0 || major != 9) {
      return "the first GPU is no Hopper";
    }
    void* context = nullptr;
    if (call("cuDevicePrimaryCtxRetain", &context, device_) != 0 || call("cuCtxSetCurrent", context) != 0 ||
        call("cuStreamCreate", &stream_, 0u) != 0) {
      return "the first GPU cannot be used";
    }
    return {};
  }

  // A function of the driver, whose parameters have just these types. 0: it succeeded.
  template <class... A>
  int call(const char* name, A... arguments) const {
    const auto function = reinterpret_cast<int (*)(A...)>(dlsym(driver_, name));
    return function ? function(arguments...) : -1;
  }
  template <class... A>
  void need(const char* name, A... arguments) const {
    if (const int result = call(name, arguments...)) {
      throw std::runtime_error(std::string(name) + " fails with " + std::to_string(result));
    }
  }

  void* driver_;
  std::string missing_;
  int device_ = 0;
  void* stream_ = nullptr;
  std::vector<unsigned long long> memory_;
};

}  // namespace example
