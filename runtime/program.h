// One kernel on every device: an image in host memory, loaded into a device's context when it is first wanted there.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include <tessera/runtime/module.h>

namespace tessera::runtime {

// Thread-safe. Loaded code stays loaded, and its devices retained, as long as the program lives.
class Program {
 public:
  // `shared_bytes` of dynamic shared memory is opted in to wherever the kernel is loaded.
  Program(Image image, std::string entry, int shared_bytes);

  const Image& image() const { return image_; }
  const std::string& entry() const { return entry_; }

  // The kernel on `device`; loads it on the first call there. The reference stays good as long as the program lives.
  const Function& on(const Device& device) const;

  // What the driver's assembler said there, if it was the driver that assembled; loads as `on` does.
  const AssemblyReport& report_on(const Device& device) const;

 private:
  struct Loaded {
    Module module;
    Function function;
  };
  const Loaded& loaded(const Device& device) const;

  Image image_;
  std::string entry_;
  int shared_bytes_;
  mutable std::mutex mutex_;
  mutable std::map<int, std::unique_ptr<const Loaded>> by_device_;
};

}  // namespace tessera::runtime
