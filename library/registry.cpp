#include <tessera/library/registry.h>

#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera {

namespace {

constexpr SourceLoc kNowhere{};  // the user's text has no line

const PatternParameter kAlign{"align", "bottom-right", "bottom-right or top-left: which ends of queries and keys meet"};
const PatternParameter kCausal{"causal", "false", "only keys up to the query's own place"};

[[noreturn]] void refuse_value(const std::string& pattern, const std::string& name, const std::string& text,
                               const char* wanted) {
  throw UserError({}, fmt::format("--{} of pattern '{}' is '{}'", name, pattern, text), std::string("give ") + wanted);
}

bool read(const std::string& text, std::int64_t& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

Mask with_causal(Mask mask, const PatternValues& values) {
  return values.flag("causal") ? mask & Mask(causal, kNowhere) : mask;
}

// Of all documents together. Checked before anything of that size is made.
std::int64_t tokens_of_documents(const PatternValues& values) {
  constexpr std::int64_t kMost = 1 << 30;  // what masks are planned for
  std::int64_t tokens = 0;
  for (std::int64_t length : values.integers("lengths")) {
    if (length < 0 || length > kMost) {
      throw UserError({}, fmt::format("a document of --lengths has {} tokens", length),
                      fmt::format("give 0 to {}", kMost));
    }
    tokens = std::min(tokens + length, kMost + 1);
  }
  if (tokens == 0 || tokens > kMost) {
    throw UserError({},
                    tokens == 0 ? "the documents of --lengths have no token"
                                : fmt::format("the documents of --lengths have more than {} tokens", kMost),
                    fmt::format("give lengths of 1 to {} tokens in all", kMost));
  }
  return tokens;
}

Mask make_documents(const PatternValues& values) {
  tokens_of_documents(values);
  return with_causal(documents(document_ids(values.integers("lengths"), kNowhere), kNowhere), values);
}

std::vector<Pattern> make_patterns() {
  using Values = PatternValues;
  return {
      {"full", "all keys", {}, [](const Values&) { return Mask(full, kNowhere); }},
      {"causal",
       "keys up to the query's own place",
       {kAlign},
       [](const Values& v) { return causal(v.align("align"), kNowhere); }},
      {"window",
       "keys near the query's own place",
       {{"left", "1023", "keys before it"}, {"right", "0", "keys after it"}, kAlign},
       [](const Values& v) { return window(v.integer("left"), v.integer("right"), v.align("align"), kNowhere); }},
      {"prefix",
       "causal, but the first keys are seen by every query",
       {{"length", "", "keys of the prefix"}, kAlign},
       [](const Values& v) { return prefix(v.integer("length"), v.align("align"), kNowhere); }},
      {"sinks",
       "the first keys, and a causal window",
       {{"count", "4", "sinks: keys seen by every later query"},
        {"left", "1023", "keys of the window before the query's own place"},
        kAlign},
       [](const Values& v) { return sink_window(v.integer("count"), v.integer("left"), v.align("align"), kNowhere); }},
      {"block-diagonal",
       "keys of the query's own block",
       {{"size", "", "tokens of a block"}, kCausal},
       [](const Values& v) { return with_causal(block_diagonal(v.integer("size"), kNowhere), v); }},
      {"documents",
       "keys of the query's own document, by a side table",
       {{"lengths", "", "tokens of each document, as 100,28,300"}, kCausal},
       make_documents,
       tokens_of_documents},
  };
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

std::vector<std::int64_t> PatternValues::integers(const std::string& name) const {
  std::vector<std::int64_t> values;
  const std::string& all = text(name);
  for (std::size_t begin = 0; begin <= all.size();) {
    std::size_t end = std::min(all.find(',', begin), all.size());
    std::int64_t value = 0;
    if (!read(all.substr(begin, end - begin), value))
      refuse_value(pattern_, name, all, "whole numbers with commas between, as 100,28,300");
    values.push_back(value);
    begin = end + 1;
  }
  return values;
}

Align PatternValues::align(const std::string& name) const {
  if (text(name) == "bottom-right") return Align::bottom_right;
  if (text(name) == "top-left") return Align::top_left;
  refuse_value(pattern_, name, text(name), "bottom-right or top-left");
}

bool PatternValues::flag(const std::string& name) const {
  if (text(name) == "true") return true;
  if (text(name) == "false") return false;
  refuse_value(pattern_, name, text(name), "true or false");
}

const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> all = make_patterns();
  return all;
}

const Pattern& pattern_named(const std::string& name) {
  std::vector<std::string> names;
  for (const Pattern& pattern : patterns()) {
    if (pattern.name == name) return pattern;
    names.push_back(pattern.name);
  }
  throw UserError({}, fmt::format("there is no pattern '{}'", name),
                  fmt::format("patterns: {}", fmt::join(names, ", ")));
}

namespace {

PatternValues values_of(const Pattern& pattern, const std::map<std::string, std::string>& given) {
  std::map<std::string, std::string> values;
  std::vector<std::string> names;
  for (const PatternParameter& parameter : pattern.parameters) {
    auto found = given.find(parameter.name);
    names.push_back(parameter.name);
    if (found == given.end() && parameter.fallback.empty()) {
      throw UserError({}, fmt::format("pattern '{}' needs --{}", pattern.name, parameter.name), parameter.help);
    }
    values[parameter.name] = found == given.end() ? parameter.fallback : found->second;
  }
  for (const auto& [name, text] : given) {
    if (values.count(name) == 0) {
      throw UserError({}, fmt::format("pattern '{}' has no parameter '{}'", pattern.name, name),
                      names.empty() ? "it has none" : fmt::format("it has: {}", fmt::join(names, ", ")));
    }
  }
  return PatternValues(pattern.name, std::move(values));
}

}  // namespace

Mask make_mask(const Pattern& pattern, const std::map<std::string, std::string>& given) {
  return pattern.make(values_of(pattern, given));
}

std::optional<std::int64_t> tokens_of(const Pattern& pattern, const std::map<std::string, std::string>& given) {
  if (!pattern.tokens) return std::nullopt;
  return pattern.tokens(values_of(pattern, given));
}

}  // namespace tessera
