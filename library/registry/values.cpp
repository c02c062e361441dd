// The parameters of a pattern, from text.
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tessera/library/registry.h>

namespace tessera {

namespace {

constexpr const char* kWholeNumbers = "whole numbers with commas between, as 100,28,300";

[[noreturn]] void refuse_value(const std::string& pattern, const std::string& name, const std::string& text,
                               const std::string& wanted) {
  throw UserError({}, fmt::format("--{} of pattern '{}' is '{}'", name, pattern, text), "give " + wanted);
}

template <class T>
bool read(const std::string& text, T& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

const std::string& PatternValues::text(const std::string& name) const {
  auto found = values_.find(name);
  if (found == values_.end())
    throw InternalError("pattern '" + pattern_ + "' reads a parameter '" + name + "' that it does not list");
  return found->second;
}

int PatternValues::integer(const std::string& name) const {
  std::int64_t value = 0;
  if (!read(text(name), value) || value < INT32_MIN || value > INT32_MAX)
    refuse_value(pattern_, name, text(name), "a whole number of 32 bits");
  return static_cast<int>(value);
}

double PatternValues::number(const std::string& name) const {
  double value = 0;
  if (!read(text(name), value) || !std::isfinite(value)) refuse_value(pattern_, name, text(name), "a number, as 0.5");
  return value;
}

std::vector<std::int64_t> PatternValues::integers(const std::string& name) const {
  std::vector<std::int64_t> values;
  const std::string& all = text(name);
  for (std::size_t begin = 0; begin <= all.size();) {
    std::size_t end = std::min(all.find(',', begin), all.size());
    std::int64_t value = 0;
    if (!read(all.substr(begin, end - begin), value)) refuse_value(pattern_, name, all, kWholeNumbers);
    values.push_back(value);
    begin = end + 1;
  }
  return values;
}

std::vector<int> PatternValues::small_integers(const std::string& name) const {
  std::vector<int> values;
  for (std::int64_t value : integers(name)) {
    if (value < INT32_MIN || value > INT32_MAX)
      refuse_value(pattern_, name, text(name), "whole numbers of 32 bits with commas between");
    values.push_back(static_cast<int>(value));
  }
  return values;
}

std::size_t PatternValues::choice(const std::string& name, const std::vector<std::string>& of) const {
  for (std::size_t i = 0; i < of.size(); ++i)
    if (text(name) == of[i]) return i;
  refuse_value(pattern_, name, text(name), fmt::format("{}", fmt::join(of, " or ")));
}

Align PatternValues::align(const std::string& name) const {
  return choice(name, {"bottom-right", "top-left"}) == 0 ? Align::bottom_right : Align::top_left;
}

bool PatternValues::flag(const std::string& name) const { return choice(name, {"true", "false"}) == 0; }

}  // namespace tessera
