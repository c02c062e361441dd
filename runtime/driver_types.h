// The few types and numbers of the CUDA driver's binary interface that we use, so that building needs no CUDA toolkit.
// tests/runtime/driver_types_test.cpp holds them against cuda.h wherever there is one.
//
// Handles are pointers to the driver's own (incomplete) structs, so a user's CUstream or cudaStream_t is a cu::Stream
// without a cast.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;

namespace tessera::runtime::cu {

using Device = int;
using DevicePointer = unsigned long long;
using Context = CUctx_st*;
using Module = CUmod_st*;
using Function = CUfunc_st*;
using Stream = CUstream_st*;
using Event = CUevent_st*;

// Results we treat in a special way; any other value travels as a number that the driver can name.
enum class Result : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  deinitialized = 4,
  no_device = 100,
  invalid_ptx = 218,
};

enum class DeviceAttribute : int {
  multiprocessor_count = 16,
  l2_cache_size = 38,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  max_shared_memory_per_block_optin = 97,
  memory_pools_supported = 115,
};

enum class PointerAttribute : int {
  memory_type = 2,
  is_managed = 8,
  device_ordinal = 9,
};

enum class MemoryType : unsigned { unregistered = 0, host = 1, device = 2 };

enum class JitOption : int {
  info_log_buffer = 3,
  info_log_buffer_size_bytes = 4,
  error_log_buffer = 5,
  error_log_buffer_size_bytes = 6,
  optimization_level = 7,
  log_verbose = 12,
  generate_line_info = 13,
};

enum class FunctionAttribute : int {
  shared_size_bytes = 1,
  local_size_bytes = 3,
  num_regs = 4,
  max_dynamic_shared_size_bytes = 8,
};

enum class StreamFlag : unsigned { standard = 0, non_blocking = 1 };
enum class CaptureStatus : int { none = 0, active = 1, invalidated = 2 };
enum class CaptureMode : int { global = 0, thread_local_ = 1, relaxed = 2 };

enum class SymbolStatus : int { found = 0, not_found = 1, version_too_old = 2 };

enum class TensorMapType : int {
  uint8 = 0,
  uint16 = 1,
  uint32 = 2,
  int32 = 3,
  float16 = 6,
  float32 = 7,
  bfloat16 = 9,
};
enum class TensorMapInterleave : int { none = 0 };
enum class TensorMapSwizzle : int { none = 0, bytes_32 = 1, bytes_64 = 2, bytes_128 = 3 };
enum class TensorMapL2Promotion : int { none = 0, bytes_128 = 2, bytes_256 = 3 };
enum class TensorMapFill : int { zeros = 0 };

// A tensor map as kernels read it. The hardware wants 64-byte alignment; cuda.h says 64 before CUDA 13, then 128.
struct alignas(128) TensorMap {
  std::uint64_t opaque[16];
};

}  // namespace tessera::runtime::cu
