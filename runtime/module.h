// Loaded code: a module in the primary context of one device, its functions, and their launches.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include <tessera/runtime/assemble.h>
#include <tessera/runtime/device.h>

namespace tessera::runtime {

struct LaunchShape {
  std::array<std::int64_t, 3> grid{1, 1, 1};  // blocks; none on any axis launches nothing
  std::array<int, 3> block{1, 1, 1};          // threads
  int shared_bytes = 0;                       // dynamic
};

struct FunctionAttributes {
  int registers = 0;
  int local_bytes = 0;   // of a thread: spills and stack
  int shared_bytes = 0;  // static
};

class Function;

// Copies share the loaded code; the last one unloads it. Functions keep their module loaded.
class Module {
 public:
  // A cubin as it is; PTX through the driver's assembler, which may throw AssemblyError. Works while a stream is being
  // captured.
  static Module load(const Device& device, const Image& image);

  Function function(const std::string& name) const;  // throws Error if there is none

  const Device& device() const { return state_->device; }

  // What the driver's assembler said; empty for a cubin, and where the driver had the code in its own cache.
  const AssemblyReport& report() const { return state_->report; }

 private:
  friend class Function;
  struct State {
    explicit State(const Device& owner) : device(owner) {}
    ~State();
    State(const State&) = delete;

    Device device;
    cu::Module handle = nullptr;
    AssemblyReport report;
  };
  explicit Module(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

class Function {
 public:
  const FunctionAttributes& attributes() const { return attributes_; }
  const Device& device() const { return module_.device(); }

  // Opts in to `bytes` of dynamic shared memory for later launches; throws Error where the device has less.
  void allow_shared(int bytes) const;

  // Enqueues the kernel. `parameters` points to each parameter, in order; they are copied before the return. Never
  // waits and allocates nothing, so it can be captured; the context current before is current after.
  void launch(const LaunchShape& shape, void* const* parameters, cu::Stream stream) const;

 private:
  friend class Module;
  Function(Module module, std::string name);

  Module module_;
  std::string name_;
  cu::Function handle_ = nullptr;
  cu::Context context_ = nullptr;  // the device's, at hand for launches
  FunctionAttributes attributes_;
};

}  // namespace tessera::runtime
