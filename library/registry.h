// The library's patterns and scores by name, for programs that get them as text: the command line.
//
//   window --left 1023 --right 0      ->  window(1023, 0)
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tessera/library/attention_options.h>

namespace tessera {

struct PatternParameter {
  std::string name;      // "left"
  std::string fallback;  // value when it is not given; empty: it must be given
  std::string help;
};

// The parameters of one use of a pattern, as text. Reading one that is not of the type wanted is a UserError that names
// the pattern, the parameter and the text.
class PatternValues {
 public:
  PatternValues(std::string pattern, std::map<std::string, std::string> values)
      : pattern_(std::move(pattern)), values_(std::move(values)) {}

  int integer(const std::string& name) const;
  double number(const std::string& name) const;
  std::vector<std::int64_t> integers(const std::string& name) const;  // "100,28,300"
  std::vector<int> small_integers(const std::string& name) const;     // the same, of 32 bits
  std::size_t choice(const std::string& name, const std::vector<std::string>& of) const;
  Align align(const std::string& name) const;  // "bottom-right", "top-left"
  bool flag(const std::string& name) const;    // "true", "false"

 private:
  const std::string& text(const std::string& name) const;
  std::string pattern_;
  std::map<std::string, std::string> values_;
};

struct Pattern {
  std::string name;
  std::string help;
  std::vector<PatternParameter> parameters;
  std::function<Mask(const PatternValues&)> make;
  std::function<std::int64_t(const PatternValues&)> tokens = {};  // for how many it is made; empty: for any number
};

const std::vector<Pattern>& patterns();
const Pattern& pattern_named(const std::string& name);  // UserError that lists the names

// The mask, with the pattern's fallbacks for what `given` lacks. UserError for parameters the pattern does not have,
// and for missing ones without a fallback.
Mask make_mask(const Pattern& pattern, const std::map<std::string, std::string>& given);

// The number of tokens that the mask of these parameters is made for, if it is made for one. Refuses as make_mask does.
std::optional<std::int64_t> tokens_of(const Pattern& pattern, const std::map<std::string, std::string>& given);

// How many queries and keys a mask of these parameters is for, as far as they say.
struct PatternLengths {
  std::optional<std::int64_t> queries, keys;
};
PatternLengths lengths_of(const Pattern& pattern, const std::map<std::string, std::string>& given);

}  // namespace tessera
