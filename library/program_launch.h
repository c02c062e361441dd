// A Program's call on a GPU with everything settled but addresses and scalars: what the next call of the same shapes
// reuses, without binding, planning or encoding again what did not change. Belongs to whoever holds the Program's lock.
#pragma once

#include <memory>
#include <vector>

#include <tessera/library/build.h>
#include <tessera/library/launch.h>

namespace tessera::library {

// The view that says where a call's data is: the first of them. Null for a call without any.
const View* first_view(const std::vector<ir::Argument>& arguments);

class ProgramLaunch {
 public:
  // `binding` is that of planned->tiled; `given` are the arguments of the call, which are its first parameters.
  ProgramLaunch(std::shared_ptr<const Planned> planned, std::shared_ptr<const Built> built,
                const runtime::Device& device, const ir::Binding& binding, std::vector<ir::Argument> given);

  // Whether a call differs in nothing but addresses that kernels can use and scalars that they can be given. What would
  // have to be refused is never served: the checks of a first call find the words for it.
  bool serves(const std::vector<ir::Argument>& arguments) const;

  // A call that is served, or that this was made for, with the device's context current.
  void launch(const std::vector<ir::Argument>& arguments, void* stream);

  bool reads(const View& view) const;  // as its first view, which says where the call's data is
  const runtime::Device& device() const { return device_; }
  const std::shared_ptr<const Planned>& planned() const { return planned_; }

 private:
  std::shared_ptr<const Planned> planned_;
  std::shared_ptr<const Built> built_;
  const runtime::Device& device_;
  const runtime::Function& function_;
  std::vector<ir::Argument> given_;  // of the last call
  LaunchImage image_;
};

}  // namespace tessera::library
