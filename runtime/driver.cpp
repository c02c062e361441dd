#include <tessera/runtime/driver.h>

#include <dlfcn.h>
#include <fmt/format.h>

#include <memory>

#include <tessera/runtime/environment.h>

namespace tessera::runtime {

namespace {

constexpr const char* default_library = "libcuda.so.1";

using GetProcAddress = cu::Result (*)(const char*, void**, int, std::uint64_t, cu::SymbolStatus*);

struct ProcessDriver {
  std::unique_ptr<const Driver> driver;
  std::string cause, remedy, reason;
};

// Never destroyed: objects with static lifetime may free device memory after main.
const ProcessDriver& process_driver() {
  static const ProcessDriver* const instance = [] {
    auto result = std::make_unique<ProcessDriver>();
    try {
      result->driver = std::make_unique<const Driver>(environment(variable::cuda_driver).value_or(default_library));
    } catch (const NoDriver& error) {
      result->cause = error.cause();
      result->remedy = error.remedy();
      result->reason = error.what();
    }
    return result.release();
  }();
  return *instance;
}

std::string describe(const char* call, cu::Result code, const std::string& name, const std::string& text,
                     const std::string& context) {
  return fmt::format("{} failed: {} ({}): {}{}{}", call, name, static_cast<int>(code), text,
                     context.empty() ? "" : ", while ", context);
}

template <class Call>
std::string ask(const Call& call, cu::Result code, const char* otherwise) {
  const char* answer = nullptr;
  bool known = call.status(code, &answer) == cu::Result::success && answer;
  return known ? answer : otherwise;
}

}  // namespace

DriverError::DriverError(const Driver& driver, const char* call, cu::Result code, std::string context,
                         std::string remedy)
    : DriverError(call, code, ask(driver.get_error_name, code, "unknown error"),
                  ask(driver.get_error_string, code, "the driver has no text for it"), std::move(context),
                  std::move(remedy)) {}

DriverError::DriverError(const char* call, cu::Result code, std::string name, std::string text, std::string context,
                         std::string remedy)
    : Error(describe(call, code, name, text, context), std::move(remedy)),
      call_(call),
      code_(code),
      name_(std::move(name)),
      text_(std::move(text)),
      context_(std::move(context)) {}

void* Driver::open(const std::string& library) {
  if (void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  throw NoDriver(fmt::format("the NVIDIA driver library cannot be opened: {}", dlerror()),
                 "install NVIDIA's driver, or run on the CPU");
}

void* Driver::resolve(void* handle, const char* symbol) {
  constexpr const char* remedy = "update NVIDIA's driver to one for CUDA 12.0 or newer";
  auto get = reinterpret_cast<GetProcAddress>(dlsym(handle, "cuGetProcAddress_v2"));
  if (!get) throw NoDriver("the NVIDIA driver is older than CUDA 12.0: it has no cuGetProcAddress_v2", remedy);
  void* address = nullptr;
  cu::SymbolStatus status = cu::SymbolStatus::not_found;
  if (get(symbol, &address, abi, 0, &status) != cu::Result::success || !address) {
    throw NoDriver(fmt::format("the NVIDIA driver has no {} of CUDA 12.0", symbol), remedy);
  }
  return address;
}

Driver::Driver(const std::string& library)
    : handle_(open(library))
#define FUNCTION(member, symbol, parameters) , member(this, #symbol, resolve(handle_, #symbol))
#include <tessera/runtime/driver_functions.def>
#undef FUNCTION
{
  if (cu::Result result = init.status(0); result != cu::Result::success) {
    DriverError error(*this, "cuInit", result);
    throw NoDriver(error.cause(), result == cu::Result::no_device ? "run on a machine with an NVIDIA GPU, or on the CPU"
                                                                  : "check that nvidia-smi works, or run on the CPU");
  }
  if (driver_get_version.status(&version_) != cu::Result::success || version_ < abi) {
    throw NoDriver(fmt::format("the NVIDIA driver is for {}, older than CUDA 12.0", cuda_version_text(version_)),
                   "update NVIDIA's driver to one for CUDA 12.0 or newer");
  }
}

const Driver& driver() {
  const ProcessDriver& process = process_driver();
  if (!process.driver) throw NoDriver(process.cause, process.remedy);
  return *process.driver;
}

const std::string& driver_missing() { return process_driver().reason; }

std::string cuda_version_text(int version) { return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10); }

}  // namespace tessera::runtime
