#include <tessera/library/tune_store.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <nlohmann/json.hpp>

#include <tessera/dsl/ir/print.h>
#include <tessera/library/build_id.h>
#include <tessera/library/planned.h>
#include <tessera/runtime/cache.h>
#include <tessera/runtime/file.h>

namespace tessera::library {

namespace {

using json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr const char* kSuffix = ".tuning";

std::uint64_t power_of_two(std::int64_t value) {
  return value <= 0 ? 0 : std::bit_floor(static_cast<std::uint64_t>(value));
}

// Of everything but the checksum itself.
std::string checksum(json entry) {
  entry.erase("check");
  return runtime::hash(entry.dump()).hex();
}

std::string text_at(const json& entry, const char* name) {
  return entry.contains(name) && entry[name].is_string() ? entry[name].get<std::string>() : "";
}

// Why an entry is no use to this key and compiler; empty if it is one.
std::string mismatch(const json& entry, const TuneKey& key, const std::string& compiler) {
  if (!entry.is_object() || !entry.contains("tuning")) return "it is no tuning entry";
  if (entry["tuning"] != kFormat) return fmt::format("its format is {}, not {}", entry["tuning"].dump(), kFormat);
  if (text_at(entry, "check") != checksum(entry)) return "it is damaged";
  if (text_at(entry, "key") != key.hash().hex()) return "it was measured for another kernel, device or class of shapes";
  if (text_at(entry, "compiler") != compiler) return "it was measured with another build of Tessera";
  return "";
}

// The cache's own sweep removes what a killed writer leaves under this kind of name.
bool replace_file(const std::string& directory, const std::string& path, const std::string& content) {
  std::string temporary = directory + "/.writing-tuning-XXXXXX";
  runtime::FileHandle file(mkostemp(temporary.data(), O_CLOEXEC));
  if (!file) return false;
  if (file.write_all(content) && file.close() && rename(temporary.c_str(), path.c_str()) == 0) return true;
  const int cause = errno;
  unlink(temporary.c_str());
  errno = cause;
  return false;
}

}  // namespace

std::string shape_class(const AttentionShapes& shapes) {
  const std::int64_t kv_heads = shapes.kv_heads ? shapes.kv_heads : shapes.heads;
  return fmt::format("queries {}, keys {}, heads {}, group {}", power_of_two(shapes.query_length),
                     power_of_two(shapes.key_length), power_of_two(shapes.batch * shapes.heads),
                     kv_heads ? shapes.heads / kv_heads : 0);
}

runtime::Hash TuneKey::hash() const {
  return runtime::Hasher().add("tuning").add(device).add(program).add(head_dim).add(value_dim).add(shapes).finish();
}

TuneKey tune_key(const std::string& device, const TracedProgram& program, const AttentionOptions& resolved,
                 const AttentionShapes& shapes) {
  return {device, ir::print(program.traced.kernel), resolved.head_dim, resolved.value_dim, shape_class(shapes)};
}

TuneStore TuneStore::from_environment() {
  return {runtime::CacheOptions::from_environment().directory, compiler_identity()};
}

std::string TuneStore::path(const TuneKey& key) const { return directory_ + "/" + key.hash().hex() + kSuffix; }

TuneStore::Found TuneStore::find(const TuneKey& key) const {
  if (directory_.empty()) return {};
  const std::string name = path(key);
  const auto ignored = [&](const std::string& why) {
    return Found{std::nullopt, fmt::format("the tuning entry {} is not used: {}; tessera tune replaces it", name, why)};
  };
  runtime::FileHandle file(open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return {};
  const auto bytes = file ? file.read_all() : std::nullopt;
  if (!bytes) return ignored(std::strerror(errno));
  const json entry = json::parse(*bytes, nullptr, false);
  if (const std::string why = mismatch(entry, key, compiler_); !why.empty()) return ignored(why);
  const auto choice = parse_choice(entry);
  return choice ? Found{choice, ""} : ignored("its tile or schedule is none that kernels can have");
}

std::string TuneStore::save(const TuneKey& key, const TuneChoice& choice, double ms) const {
  if (directory_.empty()) {
    throw UserError({}, "there is no cache directory to keep the result in",
                    "set TESSERA_CACHE_DIR, XDG_CACHE_HOME or HOME");
  }
  json entry = {{"tuning", kFormat},        {"device", key.device},       {"shapes", key.shapes},
                {"head_dim", key.head_dim}, {"value_dim", key.value_dim}, {"ms", ms},
                {"key", key.hash().hex()},  {"compiler", compiler_}};
  entry.update(to_json(choice));
  entry["check"] = checksum(entry);
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  errno = error.value();
  const std::string name = path(key);
  if (error || !replace_file(directory_, name, entry.dump(1) + "\n")) {
    throw UserError({}, fmt::format("the result cannot be kept in {}: {}", name, std::strerror(errno)),
                    "make the folder writable, free space there, or set TESSERA_CACHE_DIR");
  }
  return name;
}

}  // namespace tessera::library
