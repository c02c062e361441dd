// What the commands that measure have in common.
#pragma once

#include <string>
#include <vector>

#include <tessera/runtime/device.h>

namespace tessera::cli {

// UserError where there is no GPU, with the reason.
const runtime::Device& device_to_measure_on();

std::vector<std::string> parts_of(const std::string& list);  // "a,b" -> a, b; nothing of an empty text

}  // namespace tessera::cli
