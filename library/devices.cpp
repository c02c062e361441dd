#include <tessera/library/devices.h>

#include <memory>

#include <fmt/format.h>

#include <tessera/library/environment.h>
#include <tessera/library/made_once.h>

namespace tessera::library {

namespace {

// A call on one device does not wait until another is opened.
struct Devices {
  MadeOnce<int, std::shared_ptr<const runtime::Device>> open;

  const runtime::Device& at(int ordinal) {
    return *open.get(ordinal, [&] { return std::make_shared<const runtime::Device>(runtime::Device::open(ordinal)); });
  }
};

// Never destroyed: the driver may be unloaded before static destructors run.
Devices& devices() {
  static auto* value = new Devices;
  return *value;
}

int capability_of(const runtime::Device& device) { return device.info().major * 10 + device.info().minor; }

struct Default {
  const runtime::Device* device = nullptr;
  std::string why;

  Default() {
    if (!environment().device) {
      why = "TESSERA_DEVICE=cpu";
      return;
    }
    try {
      const runtime::Device& opened = devices().at(*environment().device);
      backend::target_for(capability_of(opened));
      device = &opened;
    } catch (const runtime::Error& error) {
      why = error.cause();
    } catch (const UserError& error) {
      why = error.what();
    }
  }
};
const Default& default_of_process() {
  static const Default value;
  return value;
}

constexpr const char* kRunOnCpu = "pass views of host memory to run on the CPU";

}  // namespace

const runtime::Device* default_device() { return default_of_process().device; }
const std::string& why_no_device() { return default_of_process().why; }

const runtime::Device& device_of(const std::string& name, const View& view, SourceLoc loc) {
  if (const std::string& missing = runtime::driver_missing(); !missing.empty()) {
    throw UserError(loc, fmt::format("{} is in device memory, and there is no device: {}", name, missing), kRunOnCpu);
  }
  if (view.data == nullptr) {  // a tensor without elements: any device will do
    if (const runtime::Device* device = default_device()) return *device;
    throw UserError(loc, fmt::format("{} is in device memory, and there is no device: {}", name, why_no_device()),
                    kRunOnCpu);
  }
  runtime::PointerInfo info = runtime::describe_pointer(view.data);
  if (info.memory != runtime::PointerInfo::Memory::device && info.memory != runtime::PointerInfo::Memory::managed) {
    throw UserError(loc, fmt::format("{} is given as device memory, and is {}", name, to_string(info)),
                    "copy it to the device, or give it as Memory::host");
  }
  return devices().at(info.ordinal);
}

void check_on_device(const std::string& name, const View& view, const runtime::Device& device, SourceLoc loc) {
  if (view.data == nullptr) return;
  runtime::PointerInfo info = runtime::describe_pointer(view.data);
  if (info.accessible_from(device.ordinal())) return;
  throw UserError(loc, fmt::format("{} is {}, and q is on {}", name, to_string(info), device.info().text()),
                  "put all tensors of a call on one device");
}

const backend::Target& choose_target(const std::string& name, const runtime::Device* device, SourceLoc loc) {
  if (!name.empty()) {
    const backend::Target& target = backend::target_named(name);
    if (device && target.capability != capability_of(*device)) {
      throw UserError(loc, fmt::format("target {} does not run on {}", name, device->info().text()),
                      "leave the target out to compile for the device");
    }
    return target;
  }
  if (device) return backend::target_for(capability_of(*device));
  for (const backend::Target& target : backend::targets()) {
    if (target.supported) return target;
  }
  throw InternalError("no target is supported");
}

void check_target(const backend::Target& target, const std::string& name, const runtime::Device& device,
                  SourceLoc loc) {
  if (&choose_target(name, &device, loc) == &target) return;
  throw UserError(loc,
                  fmt::format("kernels are compiled for {}, and the call is on {}", target.name, device.info().text()),
                  "make another Attention or Program for that device, with its target");
}

}  // namespace tessera::library
