#include "runtime/fake/driver.h"

#include <cstring>
#include <memory>
#include <mutex>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace tessera::runtime::fake {
namespace {

State& state() {
  static auto* instance = new State;
  return *instance;
}

std::mutex state_mutex;

// Current contexts are a thread's own matter.
Contexts& contexts() {
  thread_local Contexts stack;
  return stack;
}

constexpr int ok = 0, invalid_value = 1, out_of_memory = 2, invalid_context = 201, invalid_ptx = 218, not_found = 500;

// Contexts and streams are told apart by address: one byte a device.
char context_of[16];
int device_of(void* context) { return static_cast<int>(static_cast<char*>(context) - context_of); }

struct Kernel {
  std::string name;
};
struct LoadedModule {
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
};

int init(unsigned) { return state().init_result; }
int driver_version(int* version) { return *version = state().version, ok; }

int error_name(int code, const char** name) {
  switch (code) {
    case invalid_value: return *name = "CUDA_ERROR_INVALID_VALUE", ok;
    case out_of_memory: return *name = "CUDA_ERROR_OUT_OF_MEMORY", ok;
    case 100: return *name = "CUDA_ERROR_NO_DEVICE", ok;
    case invalid_ptx: return *name = "CUDA_ERROR_INVALID_PTX", ok;
    case not_found: return *name = "CUDA_ERROR_NOT_FOUND", ok;
    case 719: return *name = "CUDA_ERROR_LAUNCH_FAILED", ok;
  }
  return *name = nullptr, invalid_value;
}

int error_text(int code, const char** text) {
  switch (code) {
    case invalid_value: return *text = "invalid argument", ok;
    case out_of_memory: return *text = "out of memory", ok;
    case 100: return *text = "no CUDA-capable device is detected", ok;
    case invalid_ptx: return *text = "a PTX JIT compilation failed", ok;
    case not_found: return *text = "named symbol not found", ok;
    case 719: return *text = "unspecified launch failure", ok;
  }
  return *text = nullptr, invalid_value;
}

int device_count(int* count) { return *count = state().devices, ok; }
int device_get(int* device, int ordinal) {
  if (ordinal < 0 || ordinal >= state().devices) return 101;
  return *device = ordinal, ok;
}
int device_name(char* name, int capacity, int) { return std::strncpy(name, "Fake GPU", capacity), ok; }
int device_attribute(int* value, int attribute, int) {
  switch (attribute) {
    case 16: return *value = 132, ok;
    case 38: return *value = 50 << 20, ok;
    case 75: return *value = state().capability / 10, ok;
    case 76: return *value = state().capability % 10, ok;
    case 97: return *value = 232448, ok;
    case 115: return *value = state().memory_pools, ok;
  }
  return invalid_value;
}
int device_memory(std::size_t* bytes, int) { return *bytes = state().memory_bytes, ok; }

int retain(void** context, int device) { return ++state().retained[device], *context = &context_of[device], ok; }
int release(int device) { return --state().retained[device], ok; }
int current(void** context) { return *context = contexts().empty() ? nullptr : contexts().back(), ok; }
int push(void* context) { return contexts().push_back(context), ok; }
int pop(void** context) {
  if (contexts().empty()) return invalid_context;
  *context = contexts().back();
  return contexts().pop_back(), ok;
}
int context_device(int* device) {
  if (contexts().empty()) return invalid_context;
  return *device = device_of(contexts().back()), ok;
}
int synchronize() { return contexts().empty() ? invalid_context : ok; }

std::uint64_t used() {
  std::uint64_t sum = 0;
  for (auto [address, bytes] : state().allocations) sum += bytes;
  return sum;
}
int memory_info(std::size_t* free, std::size_t* total) {
  *total = state().memory_bytes;
  return *free = *total - used(), ok;
}
constexpr std::align_val_t kAlignment{256};  // of device memory
int allocate(unsigned long long* address, std::size_t bytes) {
  if (contexts().empty()) return invalid_context;
  if (bytes == 0) return invalid_value;
  if (bytes > state().memory_bytes - used()) return out_of_memory;
  void* memory = std::memset(operator new(bytes, kAlignment), 0xcd, bytes);  // what memory holds at first
  *address = reinterpret_cast<unsigned long long>(memory);
  if (state().relaxed_captures > 0) ++state().allocations_in_relaxed_mode;
  state().owners[*address] = device_of(contexts().back());
  return state().allocations[*address] = bytes, ok;
}
int release_memory(unsigned long long address) {
  if (contexts().empty()) return invalid_context;
  if (state().allocations.erase(address) == 0) return invalid_value;
  state().owners.erase(address);
  return operator delete(reinterpret_cast<void*>(address), kAlignment), ok;
}
int allocate_async(unsigned long long* address, std::size_t bytes, void*) { return allocate(address, bytes); }
int release_async(unsigned long long address, void*) { return release_memory(address); }
// Memory type (2), device ordinal (9), and no to everything else. Unknown memory has neither.
int pointer_attributes(unsigned count, int* attributes, void** values, unsigned long long address) {
  auto after = state().allocations.upper_bound(address);
  const bool known =
      after != state().allocations.begin() && address < std::prev(after)->first + std::prev(after)->second;
  const int owner = known ? state().owners[std::prev(after)->first] : -2;
  for (unsigned i = 0; i < count; ++i) {
    *static_cast<int*>(values[i]) = attributes[i] == 2 ? (known ? 2 : 0) : attributes[i] == 9 ? owner : 0;
  }
  return ok;
}
int upload(unsigned long long to, const void* from, std::size_t bytes, void*) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), ok;
}
int download(void* to, unsigned long long from, std::size_t bytes, void*) {
  return std::memcpy(to, reinterpret_cast<void*>(from), bytes), ok;
}
int move(unsigned long long to, unsigned long long from, std::size_t bytes, void*) {
  return std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), ok;
}
int set(unsigned long long to, unsigned char value, std::size_t bytes, void* stream) {
  if (!stream) ++state().work_on_null_stream;
  return std::memset(reinterpret_cast<void*>(to), value, bytes), ok;
}

// A stream remembers the context it was made in. No two have the same identity, whatever became of them.
int stream_create(void** stream, unsigned) {
  static unsigned long long made = 0;
  if (contexts().empty()) return invalid_context;
  *stream = new void*(contexts().back());
  state().identities[*stream] = ++made;
  return ++state().streams, ok;
}
int stream_destroy(void* stream) {
  state().identities.erase(stream);
  return delete static_cast<void**>(stream), --state().streams, ok;
}
int stream_context(void* stream, void** context) { return *context = *static_cast<void**>(stream), ok; }
int stream_synchronize(void*) { return ok; }
int stream_wait(void*, void*, unsigned) { return ok; }
int stream_capturing(void*, int* status) { return *status = state().capturing, ok; }
// Of the null stream, and of handles that tests make up: the address, from above all others.
int stream_id(void* stream, unsigned long long* id) {
  const auto made = state().identities.find(stream);
  return *id = made != state().identities.end() ? made->second : ~reinterpret_cast<std::uintptr_t>(stream), ok;
}
int exchange_mode(int* mode) {
  state().relaxed_captures += *mode == 2 ? 1 : -1;
  return *mode = *mode == 2 ? 0 : 2, ok;
}
int event_create(void** event, unsigned) { return *event = new int(0), ++state().events, ok; }
int event_destroy(void* event) { return delete static_cast<int*>(event), --state().events, ok; }
int event_record(void*, void*) { return ok; }
int event_synchronize(void*) { return ok; }
int event_elapsed(float* milliseconds, void*, void*) { return *milliseconds = 1.5f, ok; }

// PTX that contains "bad" does not assemble; any other code has the kernels that it names after ".entry".
int load(void** module, const void* image, unsigned options, int* names, void** values) {
  if (contexts().empty()) return invalid_context;
  state().last_image = static_cast<const char*>(image);
  if (state().relaxed_captures > 0) ++state().loads_in_relaxed_mode;
  const bool bad = state().last_image.find("bad") != std::string::npos;
  for (unsigned i = 0; i < options; ++i) {
    if (names[i] == 5 && bad) std::strcpy(static_cast<char*>(values[i]), "ptxas fatal : bad\n");
    if (names[i] == 3 && !bad) {
      std::strcpy(static_cast<char*>(values[i]),
                  "ptxas info    : Compiling entry function 'add' for 'sm_90a'\nptxas info    : Used 9 registers\n");
    }
  }
  if (bad) return invalid_ptx;
  auto loaded = std::make_unique<LoadedModule>();
  const std::string mark = ".entry ";
  for (std::size_t at = state().last_image.find(mark); at != std::string::npos;) {
    const std::size_t begin = at + mark.size();
    const std::string name = state().last_image.substr(begin, state().last_image.find_first_of(" (\n", begin) - begin);
    loaded->kernels[name] = std::make_unique<Kernel>(Kernel{name});
    at = state().last_image.find(mark, begin);
  }
  return *module = loaded.release(), ++state().modules, ok;
}
int unload(void* module) { return delete static_cast<LoadedModule*>(module), --state().modules, ok; }
int get_function(void** function, void* module, const char* name) {
  auto& kernels = static_cast<LoadedModule*>(module)->kernels;
  auto found = kernels.find(name);
  if (found == kernels.end()) return not_found;
  return *function = found->second.get(), ok;
}
int function_attribute(int* value, int attribute, void*) {
  return *value = attribute == 4 ? 9 : attribute == 1 ? 1024 : 0, ok;
}
int set_function_attribute(void* function, int, int value) {
  return state().dynamic_shared[static_cast<Kernel*>(function)->name] = value, ok;
}
int launch(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
           unsigned shared, void* stream, void** parameters, void**) {
  if (!state().recording) return ok;
  std::uint64_t first = 0;
  if (parameters) std::memcpy(&first, parameters[0], sizeof first);
  void* context = nullptr;
  current(&context);
  state().launches.push_back(
      {static_cast<Kernel*>(function)->name, {gx, gy, gz}, {bx, by, bz}, shared, stream, first, context});
  return ok;
}
int encode(cu::TensorMap* map, int type, std::uint32_t rank, void* base, const std::uint64_t* extents,
           const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* ones, int, int swizzle, int,
           int) {
  if (contexts().empty()) return invalid_context;
  for (std::uint32_t i = 0; i < rank; ++i) {
    if (ones[i] != 1) return invalid_value;
  }
  *map = {};
  if (!state().recording) return ok;
  state().maps.push_back({type,
                          static_cast<int>(rank),
                          swizzle,
                          reinterpret_cast<std::uint64_t>(base),
                          {extents, extents + rank},
                          {strides, strides + rank - 1},
                          {box, box + rank}});
  return ok;
}

struct Function {
  const char* name;
  void* address;
};

// Counts the calls, and fails those that a test wants to fail.
template <auto function, class Type = decltype(function)>
struct Counted;

template <auto function, class... Args>
struct Counted<function, int (*)(Args...)> {
  static inline const char* name = nullptr;
  static int call(Args... args) {
    std::lock_guard lock(state_mutex);
    if (!state().recording) return function(args...);
    ++state().calls[name];
    auto failure = state().failures.find(name);
    return failure != state().failures.end() ? failure->second : function(args...);
  }
};

template <auto function>
Function entry(const char* name) {
  using Call = Counted<function>;
  Call::name = name;
  return {name, reinterpret_cast<void*>(&Call::call)};
}

#define ENTRY(name, function) entry<&function>(name)
const Function functions[] = {
    ENTRY("cuInit", init),
    ENTRY("cuDriverGetVersion", driver_version),
    ENTRY("cuGetErrorName", error_name),
    ENTRY("cuGetErrorString", error_text),
    ENTRY("cuDeviceGetCount", device_count),
    ENTRY("cuDeviceGet", device_get),
    ENTRY("cuDeviceGetName", device_name),
    ENTRY("cuDeviceGetAttribute", device_attribute),
    ENTRY("cuDeviceTotalMem", device_memory),
    ENTRY("cuDevicePrimaryCtxRetain", retain),
    ENTRY("cuDevicePrimaryCtxRelease", release),
    ENTRY("cuCtxGetCurrent", current),
    ENTRY("cuCtxPushCurrent", push),
    ENTRY("cuCtxPopCurrent", pop),
    ENTRY("cuCtxGetDevice", context_device),
    ENTRY("cuCtxSynchronize", synchronize),
    ENTRY("cuPointerGetAttributes", pointer_attributes),
    ENTRY("cuMemGetInfo", memory_info),
    ENTRY("cuMemAlloc", allocate),
    ENTRY("cuMemFree", release_memory),
    ENTRY("cuMemAllocAsync", allocate_async),
    ENTRY("cuMemFreeAsync", release_async),
    ENTRY("cuMemcpyHtoDAsync", upload),
    ENTRY("cuMemcpyDtoHAsync", download),
    ENTRY("cuMemcpyDtoDAsync", move),
    ENTRY("cuMemsetD8Async", set),
    ENTRY("cuStreamCreate", stream_create),
    ENTRY("cuStreamDestroy", stream_destroy),
    ENTRY("cuStreamSynchronize", stream_synchronize),
    ENTRY("cuStreamWaitEvent", stream_wait),
    ENTRY("cuStreamIsCapturing", stream_capturing),
    ENTRY("cuStreamGetId", stream_id),
    ENTRY("cuStreamGetCtx", stream_context),
    ENTRY("cuThreadExchangeStreamCaptureMode", exchange_mode),
    ENTRY("cuEventCreate", event_create),
    ENTRY("cuEventDestroy", event_destroy),
    ENTRY("cuEventRecord", event_record),
    ENTRY("cuEventSynchronize", event_synchronize),
    ENTRY("cuEventElapsedTime", event_elapsed),
    ENTRY("cuModuleLoadDataEx", load),
    ENTRY("cuModuleUnload", unload),
    ENTRY("cuModuleGetFunction", get_function),
    ENTRY("cuFuncGetAttribute", function_attribute),
    ENTRY("cuFuncSetAttribute", set_function_attribute),
    ENTRY("cuLaunchKernel", launch),
    ENTRY("cuTensorMapEncodeTiled", encode),
};

}  // namespace
}  // namespace tessera::runtime::fake

EXPORT int cuGetProcAddress_v2(const char* symbol, void** address, int, std::uint64_t, int* status) {
  using namespace tessera::runtime;
  for (const fake::Function& function : fake::functions) {
    if (std::string(function.name) != symbol || symbol == fake::state().missing) continue;
    *address = function.address;
    return *status = 0, 0;
  }
  *address = nullptr;
  return *status = 1, fake::not_found;
}

EXPORT tessera::runtime::fake::State* tessera_fake_state() { return &tessera::runtime::fake::state(); }

EXPORT tessera::runtime::fake::Contexts* tessera_fake_contexts() { return &tessera::runtime::fake::contexts(); }
