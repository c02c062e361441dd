#include <tessera/library/build.h>

#include <chrono>
#include <cstring>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include <tessera/backend/layouts.h>
#include <tessera/dsl/ir/rewrite.h>
#include <tessera/library/artifact_text.h>
#include <tessera/library/build_id.h>
#include <tessera/library/elapsed.h>
#include <tessera/library/environment.h>

namespace tessera::library {

namespace {

runtime::Hash key_of(const BuildRequest& request) {
  static const std::string compiler = compiler_identity();
  return runtime::Hasher()
      .add("kernel")
      .add(compiler)
      .add(request.text)
      .add(request.target->name)
      .add(to_string(request.schedule))
      .add(assembler().identity())
      .add(request.line_info ? 1 : 0)
      .finish();
}

backend::CompileOptions compile_options(const BuildRequest& request) {
  backend::CompileOptions options;
  options.emit.line_info = request.line_info;
  return options;
}

// An artifact and its image in one entry of the cache: u64 size of the first, then both.
std::string pack(const backend::Artifact& artifact, const runtime::Image& image) {
  std::string head = serialise(artifact);
  std::uint64_t size = head.size();
  std::string packed(reinterpret_cast<const char*>(&size), sizeof size);
  return packed + head + runtime::serialise(image);
}

std::shared_ptr<const Built> unpack(std::string_view bytes) {
  std::uint64_t size = 0;
  if (bytes.size() < sizeof size) return nullptr;
  std::memcpy(&size, bytes.data(), sizeof size);
  bytes.remove_prefix(sizeof size);
  if (size > bytes.size()) return nullptr;
  auto artifact = parse_artifact(bytes.substr(0, size));
  auto image = runtime::parse_image(bytes.substr(size));
  if (!artifact || !image) return nullptr;
  return std::make_shared<const Built>(std::move(*artifact), std::move(*image));
}

// A kernel without products holds its tiles in registers, and its code names every element: what no register file could
// hold would keep the compiler busy without end. (Where there are products backend::resolve counts them.)
void refuse_huge_tiles(const ir::Kernel& tiled) {
  constexpr int most = 1024;  // elements a thread
  const backend::LayoutRule rule(tiled);
  if (rule.has_products()) return;
  ir::walk(tiled.entry, [&](const ir::Op& op) {
    for (ir::Value result : op.results) {
      const ir::Type type = rule.place(tiled.type(result), op.loc);
      if (!type.layout || type.layout->size(ir::Part::reg) <= most) continue;
      throw UserError(op.loc,
                      fmt::format("kernel '{}' makes a tile {}, {} elements for each thread", tiled.name,
                                  to_string(tiled.type(result)), type.layout->size(ir::Part::reg)),
                      fmt::format("at most {} fit: choose smaller tiles, or extents that are multiples of 32", most));
    }
  });
}

std::string compile_and_assemble(const BuildRequest& request, BuildResult& result) try {
  backend::Compiled compiled =
      backend::compile(*request.tiled, *request.target, request.schedule, compile_options(request));
  result.origin = Origin::compiled;
  result.passes_ms = compiled.passes_ms;
  result.llvm_ms = compiled.llvm_ms;
  auto start = std::chrono::steady_clock::now();
  runtime::AssemblyOptions options;
  options.target = request.target->name;
  options.line_info = request.line_info;
  runtime::Image image = assembler().assemble(compiled.artifact.ptx, options);
  result.assemble_ms = ms_since(start);
  return pack(compiled.artifact, image);
} catch (const runtime::AssemblyError& error) {
  throw UserError({},
                  fmt::format("the PTX of kernel '{}' does not assemble for {}: {}", request.tiled->name,
                              request.target->name, error.cause()),
                  error.remedy().empty()
                      ? "use a ptxas of CUDA 12.8 or newer (TESSERA_PTXAS=path), or the driver (TESSERA_PTXAS=none)"
                      : error.remedy());
}

// What this process has built. Entries stay: code that is loaded on a device is used by launches in flight.
struct Shelf {
  std::mutex mutex;
  std::map<runtime::Hash, std::shared_ptr<const Built>> built;
};
Shelf& shelf() {
  static Shelf value;
  return value;
}

}  // namespace

BuildRequest request_to_build(const PlannedKernel& kernel, const backend::Target& target,
                              const backend::Schedule& schedule) {
  refuse_huge_tiles(kernel.tiled);
  return {.tiled = &kernel.tiled,
          .text = kernel.text,
          .target = &target,
          .schedule = backend::resolve(schedule, kernel.tiled, target),
          .line_info = environment().line_info};
}

std::string_view name_of(Origin origin) {
  switch (origin) {
    case Origin::compiled: return "compiled";
    case Origin::memory: return "memory";
    case Origin::disk: return "disk";
  }
  return "";
}

Built::Built(backend::Artifact from, runtime::Image image)
    : artifact(std::move(from)), program(std::move(image), artifact.entry, artifact.shared_bytes) {}

std::optional<runtime::KernelUsage> Built::usage(const runtime::Device* device) const {
  if (const runtime::KernelUsage* usage = program.image().report.find(artifact.entry)) return *usage;
  if (!device) return std::nullopt;
  if (const runtime::KernelUsage* usage = program.report_on(*device).find(artifact.entry)) return *usage;
  const runtime::FunctionAttributes& attributes = program.on(*device).attributes();
  runtime::KernelUsage usage;
  usage.entry = artifact.entry;
  usage.registers = attributes.registers;
  usage.spill_store_bytes = attributes.local_bytes;
  return usage;
}

const runtime::Assembler& assembler() {
  static const runtime::Assembler value = runtime::Assembler::find(&kernel_cache());
  return value;
}

runtime::Cache& kernel_cache() {
  static runtime::Cache value;
  return value;
}

BuildResult build(const BuildRequest& request) {
  runtime::Hash key = key_of(request);
  {
    std::lock_guard lock(shelf().mutex);
    if (auto found = shelf().built.find(key); found != shelf().built.end()) return {found->second, Origin::memory};
  }
  BuildResult result;
  result.origin = Origin::disk;  // unless it turns out that it had to be made
  auto blob = kernel_cache().get_or_make(key, [&] { return compile_and_assemble(request, result); });
  result.built = unpack(*blob);
  if (!result.built) result.built = unpack(compile_and_assemble(request, result));  // an entry of a foreign form
  ensure(result.built != nullptr, "a kernel that was just packed unpacks");
  std::lock_guard lock(shelf().mutex);
  auto [place, first] = shelf().built.emplace(key, result.built);
  result.built = place->second;
  return result;
}

backend::Compiled compile_again(const BuildRequest& request) {
  return backend::compile(*request.tiled, *request.target, request.schedule, compile_options(request));
}

}  // namespace tessera::library
