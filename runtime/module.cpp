#include <tessera/runtime/module.h>

#include <fmt/format.h>

#include <tessera/runtime/stream.h>

namespace tessera::runtime {

namespace {

constexpr std::size_t log_bytes = 64 << 10;
constexpr std::int64_t max_grid_x = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t max_grid_yz = 65535;

// The driver takes numbers among the option values as if they were pointers.
void* number(std::size_t value) { return reinterpret_cast<void*>(value); }

// The highest level of ptxas is 3, of the driver 4; both are what each does when not told.
std::size_t driver_level(int ptxas_level) { return ptxas_level >= 3 ? 4 : static_cast<std::size_t>(ptxas_level); }

// What is before the terminating zero of a log the driver wrote.
void trim(std::string& log) { log.resize(std::min(log.find('\0'), log.size())); }

cu::Module assemble_by_driver(const Image& image, AssemblyReport& report) {
  std::string log(log_bytes, '\0'), errors(log_bytes, '\0');
  cu::JitOption options[] = {cu::JitOption::info_log_buffer,   cu::JitOption::info_log_buffer_size_bytes,
                             cu::JitOption::error_log_buffer,  cu::JitOption::error_log_buffer_size_bytes,
                             cu::JitOption::log_verbose,       cu::JitOption::optimization_level,
                             cu::JitOption::generate_line_info};
  void* values[] = {log.data(),
                    number(log.size()),
                    errors.data(),
                    number(errors.size()),
                    number(1),
                    number(driver_level(image.optimization)),
                    number(image.line_info ? 1 : 0)};
  cu::Module module = nullptr;
  const auto& call = driver().module_load_data;
  const cu::Result result = call.status(&module, image.bytes.c_str(), std::size(options), options, values);
  trim(log);
  trim(errors);
  if (result != cu::Result::success) {
    DriverError error(driver(), call.name(), result);
    throw AssemblyError(driver_assembler(), error.cause(), errors);
  }
  report = parse_report(log);
  return module;
}

cu::Module load_cubin(const Device& device, const Image& image) {
  cu::Module module = nullptr;
  const auto& call = driver().module_load_data;
  const cu::Result result = call.status(&module, image.bytes.data(), 0, nullptr, nullptr);
  if (result != cu::Result::success) {
    throw DriverError(driver(), call.name(), result, fmt::format("loading a cubin on {}", device.info().text()),
                      "check that the kernel was compiled for this device");
  }
  return module;
}

int attribute(cu::Function function, cu::FunctionAttribute which) {
  int value = 0;
  driver().func_get_attribute(&value, which, function);
  return value;
}

}  // namespace

Module::State::~State() {
  const Driver& cuda = driver();
  if (!handle || cuda.ctx_push_current.status(device.context()) != cu::Result::success) return;
  cuda.module_unload.status(handle);
  cu::Context popped = nullptr;
  cuda.ctx_pop_current.status(&popped);
}

Module Module::load(const Device& device, const Image& image) {
  auto state = std::make_shared<State>(device);
  ScopedContext current(device);
  OutsideCapture outside;
  state->handle = image.kind == Image::Kind::ptx ? assemble_by_driver(image, state->report) : load_cubin(device, image);
  return Module(std::move(state));
}

Function Module::function(const std::string& name) const { return Function(*this, name); }

Function::Function(Module module, std::string name)
    : module_(std::move(module)), name_(std::move(name)), context_(module_.device().context()) {
  ScopedContext current(device());
  OutsideCapture outside;
  const auto& call = driver().module_get_function;
  if (cu::Result result = call.status(&handle_, module_.state_->handle, name_.c_str()); result != cu::Result::success) {
    throw DriverError(driver(), call.name(), result, fmt::format("looking for kernel '{}'", name_));
  }
  attributes_.registers = attribute(handle_, cu::FunctionAttribute::num_regs);
  attributes_.local_bytes = attribute(handle_, cu::FunctionAttribute::local_size_bytes);
  attributes_.shared_bytes = attribute(handle_, cu::FunctionAttribute::shared_size_bytes);
}

void Function::allow_shared(int bytes) const {
  if (const int most = device().info().shared_bytes - attributes_.shared_bytes; bytes > most) {
    throw Error(fmt::format("kernel '{}' needs {} bytes of shared memory in a block; {} has {}", name_, bytes,
                            device().info().text(), most),
                "use smaller tiles or fewer pipeline stages");
  }
  ScopedContext current(device());
  driver().func_set_attribute(handle_, cu::FunctionAttribute::max_dynamic_shared_size_bytes, bytes);
}

void Function::launch(const LaunchShape& shape, void* const* parameters, cu::Stream stream) const {
  const auto& [x, y, z] = shape.grid;
  if (x == 0 || y == 0 || z == 0) return;
  if (x < 0 || y < 0 || z < 0 || x > max_grid_x || y > max_grid_yz || z > max_grid_yz) {
    throw Error(fmt::format("kernel '{}' needs a grid of {} x {} x {} blocks; at most {} x {} x {} can be launched",
                            name_, x, y, z, max_grid_x, max_grid_yz, max_grid_yz),
                "split the work into several launches");
  }
  ScopedContext current(context_);
  const auto& call = driver().launch_kernel;
  const cu::Result result =
      call.status(handle_, static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z),
                  static_cast<unsigned>(shape.block[0]), static_cast<unsigned>(shape.block[1]),
                  static_cast<unsigned>(shape.block[2]), static_cast<unsigned>(shape.shared_bytes), stream,
                  const_cast<void**>(parameters), nullptr);
  if (result == cu::Result::success) return;
  throw DriverError(
      driver(), call.name(), result,
      fmt::format("launching kernel '{}' on {} with a grid of {} x {} x {}, {} x {} x {} threads, {} bytes of dynamic "
                  "shared memory",
                  name_, device().info().text(), x, y, z, shape.block[0], shape.block[1], shape.block[2],
                  shape.shared_bytes));
}

}  // namespace tessera::runtime
