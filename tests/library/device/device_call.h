// A call with its tensors in the memory of a stand-in device.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <tessera/library/attention.h>
#include <tessera/runtime/memory.h>

#include "runtime/fake/attach.h"

namespace tessera::test {

inline constexpr std::uint64_t kDeviceMemory = 64 << 20;

inline runtime::Device device_at(int ordinal) {
  static const std::uint64_t bytes = runtime::test::state().memory_bytes = kDeviceMemory;
  (void)bytes;
  return runtime::Device::open(ordinal);
}

struct DeviceTensor {
  DeviceTensor(DType dtype, std::vector<std::int64_t> shape, int ordinal = 0)
      : buffer(device_at(ordinal), View::contiguous(nullptr, dtype, shape).elements() * bytes_of(dtype)),
        view(View::contiguous(buffer.data(), dtype, std::move(shape), Memory::device)) {}

  runtime::DeviceBuffer buffer;
  View view;
};

struct DeviceCall {
  static constexpr std::int64_t kBatch = 2, kHeads = 4, kQueries = 40, kKeys = 50, kDim = 64;

  DeviceTensor q{bf16, {kBatch, kHeads, kQueries, kDim}}, k{bf16, {kBatch, 2, kKeys, kDim}},
      v{bf16, {kBatch, 2, kKeys, kDim}}, o{bf16, {kBatch, kHeads, kQueries, kDim}},
      lse{f32, {kBatch, kHeads, kQueries}};
  AttentionCall call{.q = q.view, .k = k.view, .v = v.view, .o = o.view, .lse = lse.view};
};

inline AttentionOptions options(Mask mask = full) {
  return {.mask = std::move(mask), .dtype = bf16, .head_dim = DeviceCall::kDim};
}

using DriverCalls = std::map<std::string, int>;

// What `work` calls of the driver, and how often.
template <class Work>
DriverCalls driver_calls(Work work) {
  runtime::test::state().calls.clear();
  work();
  return runtime::test::state().calls;
}

}  // namespace tessera::test
