#include <tessera/library/registry.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tessera/library/registry/rows.h>

namespace tessera {

namespace {

std::vector<Pattern> make_patterns() {
  std::vector<Pattern> all;
  for (auto* rows : {registry::basic_patterns, registry::block_patterns, registry::strided_patterns,
                     registry::packed_patterns, registry::grid_patterns, registry::video_patterns}) {
    for (Pattern& pattern : rows()) all.push_back(std::move(pattern));
  }
  return all;
}

}  // namespace

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

PatternLengths lengths_of(const Pattern& pattern, const std::map<std::string, std::string>& given) {
  if (const auto tokens = tokens_of(pattern, given)) return {tokens, tokens};
  const auto take = [](std::optional<std::int64_t>& length, const mask::Extent& extent) {
    if (extent.most < INT64_MAX)
      length = extent.most;
    else if (extent.least > 0)
      length = extent.least;
  };
  PatternLengths lengths;
  const Mask mask = make_mask(pattern, given);
  for (const mask::LengthRule& rule : mask.predicate().lengths) {
    take(lengths.queries, rule.queries);
    take(lengths.keys, rule.keys);
  }
  return lengths;
}

}  // namespace tessera
