#include <tessera/library/disassemble.h>

#include <unistd.h>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include <tessera/dsl/diagnostics.h>
#include <tessera/runtime/environment.h>
#include <tessera/runtime/process.h>

namespace tessera::library {

namespace {

struct Disassembler {
  const char* name;
  const char* option;
};
constexpr Disassembler kDisassemblers[] = {{"nvdisasm", "-c"}, {"cuobjdump", "-sass"}};

std::optional<std::string> find_program(const char* name) {
  for (const std::string& directory : runtime::program_directories()) {
    std::string path = directory + "/" + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return std::nullopt;
}

}  // namespace

std::string disassemble(const std::string& cubin) {
  for (const Disassembler& tool : kDisassemblers) {
    std::optional<std::string> path = find_program(tool.name);
    if (!path) continue;
    runtime::TemporaryDirectory directory;
    std::string file = directory.file("kernel.cubin");
    runtime::write_new_file(file, cubin);
    runtime::ProcessResult result = runtime::run_process({*path, tool.option, file});
    if (result.started && result.exit_code == 0) return result.output;
    throw UserError({}, fmt::format("{} failed with exit code {}: {}", *path, result.exit_code, result.output),
                    "check that it is at least as new as the ptxas that assembled the kernel");
  }
  throw UserError({}, "there is no disassembler: neither nvdisasm nor cuobjdump was found",
                  "install one of them and put its folder on PATH; the PTX can be read without");
}

}  // namespace tessera::library
