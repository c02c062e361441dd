#include <tessera/library/cli/values.h>

#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tessera/dsl/diagnostics.h>
#include <tessera/library/cli/suggest.h>

namespace tessera::cli {

namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& text, const std::string& remedy) {
  throw UserError({}, fmt::format("{} is '{}'", option, text), remedy);
}

template <class T>
bool reads(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end;
}

}  // namespace

std::int64_t whole_number(const std::string& option, const std::string& text, std::int64_t least) {
  std::int64_t value = 0;
  if (!reads(text, value) || value < least || value > INT32_MAX)
    refuse(option, text, fmt::format("give a whole number from {} to 2^31 - 1", least));
  return value;
}

double real_number(const std::string& option, const std::string& text) {
  double value = 0;
  if (!reads(text, value) || !std::isfinite(value)) refuse(option, text, "give a number, as 0.125");
  return value;
}

const std::string& one_of(const std::string& option, const std::string& text,
                          const std::vector<std::string>& accepted) {
  for (const std::string& value : accepted)
    if (value == text) return value;
  const std::vector<std::string> near = nearest(text, accepted);
  const std::string meant = near.empty() ? "" : fmt::format("did you mean {}? ", fmt::join(near, " or "));
  refuse(option, text, fmt::format("{}it is one of {}", meant, fmt::join(accepted, ", ")));
}

}  // namespace tessera::cli
