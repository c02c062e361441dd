#include <tessera/library/cli/values.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tessera/dsl/diagnostics.h>
#include <tessera/library/cli/suggest.h>

namespace tessera::cli {

namespace {

constexpr int kMostRows = 1024;  // of a tile along a digit

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

mask::Order token_order(const std::string& option, const std::string& text) {
  const auto wrong = [&] {
    refuse(option, text, "give one to four digits of falling weights that end in 1, as 128:8,1:16 or 112:7-4,1:7-4");
  };
  mask::Order order;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    const std::string digit = text.substr(from, to - from);
    const std::size_t colon = digit.find(':'), dash = std::min(digit.find('-'), digit.size());
    mask::OrderDigit d;
    if (colon == std::string::npos || colon > dash || !reads(digit.substr(0, colon), d.weight) ||
        !reads(digit.substr(colon + 1, dash - colon - 1), d.tile) ||
        (dash < digit.size() && !reads(digit.substr(dash + 1), d.origin)))
      wrong();
    const bool falls = order.digits.empty() ? d.weight <= INT32_MAX : d.weight < order.digits.back().weight;
    if (!falls || d.weight < 1 || d.tile < 1 || d.tile > kMostRows || d.origin < 0 || d.origin >= d.tile) wrong();
    order.digits.push_back(d);
    from = to + 1;
  }
  if (order.digits.size() > 4 || order.digits.back().weight != 1) wrong();
  return order;
}

}  // namespace tessera::cli
