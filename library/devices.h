// Which GPU a call runs on, and why there may be none.
#pragma once

#include <string>

#include <tessera/backend/target.h>
#include <tessera/dsl/ir/arguments.h>
#include <tessera/runtime/device.h>

namespace tessera::library {

// The device kernels are prepared for (TESSERA_DEVICE); null where there is none, and then `why_no_device` says why.
const runtime::Device* default_device();
const std::string& why_no_device();

// The device that holds the view. UserErrors: no driver; memory that the driver does not know as a device's.
const runtime::Device& device_of(const std::string& name, const View& view, SourceLoc loc);

// That kernels on `device` may use the view: its own memory, or managed memory.
void check_on_device(const std::string& name, const View& view, const runtime::Device& device, SourceLoc loc);

// What to compile for: the named target, or the device's, or the first supported one where there is no device.
// UserErrors: no such target; a device that is too old for any; a named target that the device does not run.
const backend::Target& choose_target(const std::string& name, const runtime::Device* device, SourceLoc loc);

// That `device` runs what was compiled for `target`, the choice for `name` when there was no call yet.
void check_target(const backend::Target& target, const std::string& name, const runtime::Device& device, SourceLoc loc);

}  // namespace tessera::library
