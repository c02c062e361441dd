#include <tessera/library/cli/mistakes.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tessera/library/cli/suggest.h>

namespace tessera::cli {

namespace {

using Path = std::vector<const CLI::App*>;  // the program, the command, the pattern: as far as they were given

Path path_of(const CLI::App& app) {
  Path path{&app};
  while (true) {
    const auto given = path.back()->get_subcommands();
    if (given.empty()) return path;
    path.push_back(given.front());
  }
}

std::vector<std::string> names_below(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> options_of(const Path& path) {
  std::vector<std::string> names;
  for (auto app = path.rbegin(); app != path.rend(); ++app) {
    for (const CLI::Option* option : (*app)->get_options()) {
      if (std::find(names.begin(), names.end(), option->get_name()) == names.end()) names.push_back(option->get_name());
    }
  }
  return names;
}

// The commands and patterns that have an option of this name.
void find_owners(const CLI::App& app, const std::string& option, std::vector<std::string>& owners) {
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string& name = sub->get_name();
    const bool known = std::find(owners.begin(), owners.end(), name) != owners.end();
    if (!known && sub->get_option_no_throw(option)) owners.push_back(name);
    find_owners(*sub, option, owners);
  }
}

// "tessera", "explain", "explain window": what the words so far are about.
std::string text_of(const Path& path) {
  if (path.size() == 1) return "tessera";
  return path.size() == 2 ? path[1]->get_name() : path[1]->get_name() + " " + path[2]->get_name();
}

UserError unknown_option(const Path& path, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  for (std::size_t i = path.size(); i-- > 1;) {
    if (path[i]->get_option_no_throw(name))
      return UserError({}, fmt::format("{} stands before what it belongs to", name),
                       fmt::format("give it after {}", path[i]->get_name()));
  }
  std::vector<std::string> owners;
  find_owners(*path.front(), name, owners);
  const std::vector<std::string> near = nearest(name, options_of(path));
  std::string remedy;
  if (!owners.empty()) remedy += fmt::format("it is an option of {}; ", fmt::join(owners, ", "));
  if (!near.empty()) remedy += fmt::format("did you mean {}? ", fmt::join(near, " or "));
  const std::string help = path.size() == 1 ? "tessera" : "tessera " + text_of({path[0], path[1]});
  return UserError({}, fmt::format("{} has no option '{}'", text_of(path), name),
                   fmt::format("{}see {} --help", remedy, help));
}

UserError unknown_word(const Path& path, const std::string& word) {
  if (path.size() == 1)
    return UserError({}, fmt::format("there is no command '{}'", word),
                     choices(word, names_below(*path[0])) + "; see tessera --help");
  if (const auto patterns = names_below(*path[1]); path.size() == 2 && !patterns.empty())
    return UserError({}, fmt::format("there is no pattern '{}'", word), choices(word, patterns));
  const bool patterned = path.size() == 3;
  return UserError({}, fmt::format("{} takes no '{}'", text_of(path), word),
                   patterned ? "give one pattern, and its options as --name value" : "leave it out");
}

UserError missing_word(const Path& path) {
  const bool command = path.size() == 1;
  return UserError({}, command ? "no command is given" : fmt::format("{} needs a pattern", text_of(path)),
                   fmt::format("give one of {}", fmt::join(names_below(*path.back()), ", ")));
}

// CLI11 names an option in front of its text: "--heads: 1 required".
const CLI::Option* option_named_by(const Path& path, const std::string& text) {
  const std::string name = text.substr(0, text.find_first_of(": "));
  for (const CLI::App* app : path) {
    if (const CLI::Option* option = name.starts_with('-') ? app->get_option_no_throw(name) : nullptr) return option;
  }
  return nullptr;
}

}  // namespace

UserError mistake(const CLI::App& app, const CLI::ParseError& error) {
  const Path path = path_of(app);
  const std::string text = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) {
    if (const CLI::Option* option = option_named_by(path, text))
      return UserError({}, fmt::format("{} needs a value", option->get_name()), option->get_description());
  }
  const auto words = app.remaining(true);
  const bool misplaced =
      dynamic_cast<const CLI::ExtrasError*>(&error) || dynamic_cast<const CLI::RequiredError*>(&error);
  if (misplaced && !words.empty())
    return words.front().starts_with('-') ? unknown_option(path, words.front()) : unknown_word(path, words.front());
  if (dynamic_cast<const CLI::RequiredError*>(&error)) return missing_word(path);
  return UserError({}, text.substr(0, text.find('\n')), "see tessera --help");
}

}  // namespace tessera::cli
