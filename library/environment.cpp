#include <tessera/library/environment.h>

#include <charconv>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

namespace tessera::library {

namespace {

constexpr std::int64_t kMostMegabytes = std::int64_t{1} << 40;  // what the runtime takes

using Variable = std::function<const char*(const char*)>;

std::string text(const Variable& variable, const char* name) {
  const char* value = variable(name);
  return value ? value : "";
}

std::int64_t number(const Variable& variable, const char* name, std::int64_t fallback, std::int64_t low,
                    std::int64_t high, const char* also = "") {
  std::string value = text(variable, name);
  if (value.empty()) return fallback;
  std::int64_t result = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc() || end != value.data() + value.size() || result < low || result > high) {
    throw UserError({}, fmt::format("environment variable {} is '{}'", name, value),
                    fmt::format("set it to a whole number from {} to {}{}, or unset it", low, high, also));
  }
  return result;
}

}  // namespace

Environment read_environment(const Variable& variable) {
  Environment result;
  if (text(variable, "TESSERA_DEVICE") == "cpu") {
    result.device.reset();
  } else {
    result.device = static_cast<int>(number(variable, "TESSERA_DEVICE", 0, 0, 1023, " or to cpu"));
  }
  result.threads = static_cast<int>(number(variable, "TESSERA_THREADS", 0, 0, 4096));
  result.line_info = number(variable, "TESSERA_LINE_INFO", 0, 0, 1) != 0;
  number(variable, "TESSERA_CACHE_MEGABYTES", 0, 1, kMostMegabytes);
  return result;
}

const Environment& environment() {
  static const Environment value = read_environment([](const char* name) -> const char* { return std::getenv(name); });
  return value;
}

}  // namespace tessera::library
