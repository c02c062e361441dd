// Our declarations of the driver's interface, held against NVIDIA's cuda.h. Everything here is checked by the compiler.
#include <doctest/doctest.h>

#include <type_traits>

#include <tessera/runtime/driver.h>

// After our headers: it renames functions by macros.
#include <cuda.h>

using namespace tessera::runtime;

namespace {

// Two types pass the same way through a call: same size, and the same kind of thing.
template <class Ours, class Theirs>
constexpr bool same_value() {
  if constexpr (std::is_same_v<Ours, Theirs>) {
    return true;
  } else if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using A = std::remove_pointer_t<Ours>;
    using B = std::remove_pointer_t<Theirs>;
    if constexpr (std::is_const_v<A> != std::is_const_v<B>) {
      return false;
    } else {
      return same_value<std::remove_const_t<A>, std::remove_const_t<B>>();
    }
  } else if constexpr (std::is_enum_v<Ours> && std::is_enum_v<Theirs>) {
    return sizeof(Ours) == sizeof(Theirs);
  } else if constexpr (std::is_class_v<Ours> && std::is_class_v<Theirs>) {
    return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) % alignof(Theirs) == 0;
  } else {
    return false;
  }
}

template <class Ours, class Theirs>
struct SameSignature : std::false_type {};

template <class R, class... A, class S, class... B>
  requires(sizeof...(A) == sizeof...(B))
struct SameSignature<R(A...), S(B...)> : std::bool_constant<same_value<R, S>() && (same_value<A, B>() && ...)> {};

#define FUNCTION(member, symbol, parameters) \
  static_assert(SameSignature<cu::Result parameters, decltype(symbol)>::value, #symbol " has another signature");
#include <tessera/runtime/driver_functions.def>
#undef FUNCTION

#define SAME(ours, theirs) static_assert(static_cast<long>(ours) == static_cast<long>(theirs), #theirs)

SAME(cu::Result::success, CUDA_SUCCESS);
SAME(cu::Result::invalid_value, CUDA_ERROR_INVALID_VALUE);
SAME(cu::Result::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(cu::Result::no_device, CUDA_ERROR_NO_DEVICE);

SAME(cu::DeviceAttribute::multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(cu::DeviceAttribute::l2_cache_size, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(cu::DeviceAttribute::compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(cu::DeviceAttribute::compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(cu::DeviceAttribute::max_shared_memory_per_block_optin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(cu::DeviceAttribute::memory_pools_supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);

SAME(cu::PointerAttribute::memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(cu::PointerAttribute::is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED);
SAME(cu::PointerAttribute::device_ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME(cu::MemoryType::host, CU_MEMORYTYPE_HOST);
SAME(cu::MemoryType::device, CU_MEMORYTYPE_DEVICE);

SAME(cu::JitOption::info_log_buffer, CU_JIT_INFO_LOG_BUFFER);
SAME(cu::JitOption::info_log_buffer_size_bytes, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
SAME(cu::JitOption::error_log_buffer, CU_JIT_ERROR_LOG_BUFFER);
SAME(cu::JitOption::error_log_buffer_size_bytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME(cu::JitOption::optimization_level, CU_JIT_OPTIMIZATION_LEVEL);
SAME(cu::JitOption::log_verbose, CU_JIT_LOG_VERBOSE);
SAME(cu::JitOption::generate_line_info, CU_JIT_GENERATE_LINE_INFO);

SAME(cu::FunctionAttribute::shared_size_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(cu::FunctionAttribute::local_size_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(cu::FunctionAttribute::num_regs, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME(cu::FunctionAttribute::max_dynamic_shared_size_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);

SAME(cu::StreamFlag::standard, CU_STREAM_DEFAULT);
SAME(cu::StreamFlag::non_blocking, CU_STREAM_NON_BLOCKING);
SAME(cu::CaptureStatus::none, CU_STREAM_CAPTURE_STATUS_NONE);
SAME(cu::CaptureStatus::active, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME(cu::CaptureStatus::invalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SAME(cu::CaptureMode::global, CU_STREAM_CAPTURE_MODE_GLOBAL);
SAME(cu::CaptureMode::relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(cu::SymbolStatus::found, CU_GET_PROC_ADDRESS_SUCCESS);
SAME(cu::SymbolStatus::not_found, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);

SAME(cu::TensorMapType::uint8, CU_TENSOR_MAP_DATA_TYPE_UINT8);
SAME(cu::TensorMapType::int32, CU_TENSOR_MAP_DATA_TYPE_INT32);
SAME(cu::TensorMapType::float16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
SAME(cu::TensorMapType::float32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
SAME(cu::TensorMapType::bfloat16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
SAME(cu::TensorMapInterleave::none, CU_TENSOR_MAP_INTERLEAVE_NONE);
SAME(cu::TensorMapSwizzle::none, CU_TENSOR_MAP_SWIZZLE_NONE);
SAME(cu::TensorMapSwizzle::bytes_128, CU_TENSOR_MAP_SWIZZLE_128B);
SAME(cu::TensorMapL2Promotion::bytes_256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
SAME(cu::TensorMapFill::zeros, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);

static_assert(sizeof(cu::TensorMap) == sizeof(CUtensorMap) && alignof(cu::TensorMap) % alignof(CUtensorMap) == 0);
static_assert(std::is_same_v<cu::Stream, CUstream> && std::is_same_v<cu::Context, CUcontext>);
static_assert(std::is_same_v<cu::Module, CUmodule> && std::is_same_v<cu::Function, CUfunction>);
static_assert(std::is_same_v<cu::Event, CUevent> && std::is_same_v<cu::DevicePointer, CUdeviceptr>);
static_assert(std::is_same_v<cu::Device, CUdevice>);

}  // namespace

TEST_CASE("the declarations of the driver's interface are those of cuda.h") {
  CHECK(CUDA_VERSION >= Driver::abi);
  // The comparison itself can tell signatures apart.
  CHECK(!SameSignature<cu::Result(int), CUresult(long)>::value);
  CHECK(!SameSignature<cu::Result(int), CUresult(int, int)>::value);
  CHECK(!SameSignature<cu::Result(const int*), CUresult(int*)>::value);
  CHECK(!SameSignature<cu::Result(cu::TensorMap*), CUresult(CUgraphNodeParams*)>::value);
}
