#include <tessera/runtime/environment.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace tessera::runtime {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (!value || !*value) return std::nullopt;
  return value;
}

std::optional<std::string> cache_directory() {
  if (auto own = environment(variable::cache_dir)) return own;
  if (auto xdg = environment(variable::xdg_cache_home); xdg && xdg->front() == '/') return *xdg + "/tessera";
  if (auto home = environment(variable::home)) return *home + "/.cache/tessera";
  return std::nullopt;
}

std::optional<std::int64_t> cache_limit() {
  auto text = environment(variable::cache_megabytes);
  if (!text) return std::nullopt;
  std::int64_t megabytes = 0;
  const char* end = text->data() + text->size();
  auto [stop, error] = std::from_chars(text->data(), end, megabytes);
  constexpr std::int64_t most = std::int64_t{1} << 40;
  if (error != std::errc() || stop != end || megabytes <= 0 || megabytes > most) return std::nullopt;
  return megabytes << 20;
}

std::vector<std::string> program_directories() {
  std::vector<std::string> directories;
  if (auto path = environment(variable::path)) {
    std::string_view rest = *path;
    while (!rest.empty()) {
      std::string_view first = rest.substr(0, rest.find(':'));
      // A relative entry would run whatever lies in the directory the user happens to stand in.
      if (!first.empty() && first.front() == '/') directories.emplace_back(first);
      rest.remove_prefix(std::min(rest.size(), first.size() + 1));
    }
  }
  if (auto home = environment(variable::cuda_home)) directories.push_back(*home + "/bin");
  directories.push_back("/usr/local/cuda/bin");
  return directories;
}

std::string temporary_directory() { return environment(variable::tmpdir).value_or("/tmp"); }

}  // namespace tessera::runtime
