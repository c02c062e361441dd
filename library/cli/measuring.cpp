#include <tessera/library/cli/measuring.h>

#include <tessera/dsl/diagnostics.h>
#include <tessera/library/devices.h>

namespace tessera::cli {

const runtime::Device& device_to_measure_on() {
  if (const runtime::Device* device = library::default_device()) return *device;
  throw UserError({}, "there is no GPU to measure on: " + library::why_no_device(), "run this where there is one");
}

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace tessera::cli
