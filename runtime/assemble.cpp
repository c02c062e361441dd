#include <tessera/runtime/assemble.h>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <tessera/runtime/cache.h>
#include <tessera/runtime/driver.h>
#include <tessera/runtime/environment.h>
#include <tessera/runtime/process.h>

namespace tessera::runtime {

namespace {

constexpr const char* input_name = "kernel.ptx";
constexpr const char* output_name = "kernel.cubin";

bool is_program(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

// A file that was not touched has the same key.
Hash program_key(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return {};
  Hasher hasher;
  hasher.add("version of a program").add(path).add(status.st_size).add(static_cast<std::int64_t>(status.st_ino));
  hasher.add(status.st_mtim.tv_sec).add(status.st_mtim.tv_nsec);
  return hasher.finish();
}

std::string ask_version(const std::string& path) {
  const ProcessResult result = run_process({path, "--version"});
  constexpr const char* remedy = "set TESSERA_PTXAS to another ptxas, or to 'none' for the driver's assembler";
  if (!result.started) throw Error(fmt::format("{} cannot be run ({})", path, result.output), remedy);
  if (auto version = parse_ptxas_version(result.output)) return "ptxas " + *version;
  throw Error(fmt::format("{} is no ptxas: asked for its version, it wrote '{}'", path,
                          result.output.substr(0, result.output.find('\n'))),
              remedy);
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::string how_it_ended(const ProcessResult& result) {
  if (!result.started) return fmt::format("it could not be run: {}", result.output);
  if (result.signal != 0) return fmt::format("it was ended by signal {}", result.signal);
  return fmt::format("exit code {}", result.exit_code);
}

}  // namespace

AssemblyError::AssemblyError(const std::string& assembler, const std::string& cause, std::string output)
    : Error(fmt::format("{} did not assemble the PTX ({}){}{}", assembler, cause, output.empty() ? "" : ":\n", output)),
      output_(std::move(output)) {}

std::string driver_assembler() {
  return driver_missing().empty() ? "driver " + cuda_version_text(driver().version()) : "driver";
}

std::optional<std::string> parse_ptxas_version(const std::string& text) {
  if (text.find("Ptx optimizing assembler") == std::string::npos) return std::nullopt;
  auto word_after = [&](const std::string& mark) {
    const std::size_t at = text.find(mark);
    if (at == std::string::npos) return std::string();
    const std::size_t begin = at + mark.size();
    return text.substr(begin, text.find_first_of(" ,\r\n", begin) - begin);
  };
  const std::string version = word_after(", V"), build = word_after("\nBuild ");
  if (version.empty()) return std::nullopt;
  return build.empty() ? version : fmt::format("{} ({})", version, build);
}

Assembler Assembler::find(Cache* cache) {
  if (auto path = environment(variable::ptxas)) {
    return *path == "none" ? by_driver("TESSERA_PTXAS is 'none'") : ptxas(*path, cache);
  }
  for (const std::string& directory : program_directories()) {
    if (std::string path = directory + "/ptxas"; is_program(path)) return ptxas(path, cache);
  }
  return by_driver("no ptxas in PATH, CUDA_HOME/bin or /usr/local/cuda/bin");
}

Assembler Assembler::ptxas(const std::string& path, Cache* cache) {
  Assembler assembler;
  assembler.path_ = path;
  assembler.identity_ =
      cache ? *cache->get_or_make(program_key(path), [&] { return ask_version(path); }) : ask_version(path);
  return assembler;
}

Assembler Assembler::by_driver(std::string why) {
  Assembler assembler;
  assembler.identity_ = driver_assembler();
  assembler.why_driver_ = std::move(why);
  return assembler;
}

Image Assembler::assemble(const std::string& ptx, const AssemblyOptions& options) const {
  Image image;
  image.assembler = identity_;
  image.optimization = options.optimization;
  image.line_info = options.line_info;
  if (!is_ptxas()) {
    image.kind = Image::Kind::ptx;
    image.bytes = ptx;
    image.why_no_cubin = why_driver_;
    return image;
  }
  const TemporaryDirectory directory;
  const std::string output = directory.file(output_name);
  write_new_file(directory.file(input_name), ptx);
  std::vector<std::string> arguments = {path_, "-v", "-arch=" + options.target,
                                        fmt::format("-O{}", options.optimization)};
  if (options.line_info) arguments.push_back("-lineinfo");
  arguments.insert(arguments.end(), {directory.file(input_name), "-o", output});
  ProcessResult result = run_process(arguments);
  replace_all(result.output, directory.path() + "/", "");
  // Where the host ignores SIGCHLD nobody learns the exit code: then the output file is the evidence.
  std::error_code ignored;
  const bool unknown_but_done = result.started && result.exit_code == -1 && result.signal == 0 &&
                                std::filesystem::file_size(output, ignored) > 0 && !ignored;
  if (result.exit_code != 0 && !unknown_but_done) {
    throw AssemblyError(identity_, how_it_ended(result), result.started ? result.output : "");
  }
  image.bytes = read_file(output);
  image.report = parse_report(result.output);
  return image;
}

}  // namespace tessera::runtime
