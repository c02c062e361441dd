#include <tessera/runtime/program.h>

namespace tessera::runtime {

Program::Program(Image image, std::string entry, int shared_bytes)
    : image_(std::move(image)), entry_(std::move(entry)), shared_bytes_(shared_bytes) {}

const Function& Program::on(const Device& device) const { return loaded(device).function; }

const AssemblyReport& Program::report_on(const Device& device) const { return loaded(device).module.report(); }

const Program::Loaded& Program::loaded(const Device& device) const {
  std::lock_guard lock(mutex_);
  std::unique_ptr<const Loaded>& entry = by_device_[device.ordinal()];
  if (!entry) {
    Module module = Module::load(device, image_);
    Function function = module.function(entry_);
    function.allow_shared(shared_bytes_);
    entry = std::make_unique<const Loaded>(Loaded{std::move(module), std::move(function)});
  }
  return *entry;
}

}  // namespace tessera::runtime
