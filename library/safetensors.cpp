#include <tessera/library/safetensors.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

namespace tessera {

namespace {

using nlohmann::json;

constexpr std::uint64_t kHeaderLimit = 100'000'000;  // what other readers of the format accept
constexpr std::size_t kPrefix = sizeof(std::uint64_t);

struct Spelling {
  DType dtype;
  const char* name;
};
constexpr Spelling kSpellings[] = {
    {DType::f16, "F16"}, {DType::bf16, "BF16"}, {DType::f32, "F32"}, {DType::i32, "I32"}};

[[noreturn]] void refuse(const std::string& path, const std::string& what, const std::string& remedy) {
  throw UserError({}, path + ": " + what, remedy);
}

constexpr const char* kWriteAgain = "the file is damaged or not a safetensors file; write it again";

std::uint64_t read_header_size(const std::vector<std::byte>& bytes, const std::string& path) {
  if (bytes.size() < kPrefix) {
    refuse(path,
           fmt::format("a safetensors file starts with 8 bytes of header size, this one has {} bytes", bytes.size()),
           kWriteAgain);
  }
  std::uint64_t size = 0;
  for (std::size_t i = kPrefix; i-- > 0;) size = size << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  if (size > kHeaderLimit || size > bytes.size() - kPrefix) {
    refuse(path, fmt::format("the header is said to have {} bytes, the file has {}", size, bytes.size() - kPrefix),
           kWriteAgain);
  }
  return size;
}

json parse_header(const char* text, std::size_t size, const std::string& path) {
  json header = json::parse(text, text + size, nullptr, /*allow_exceptions=*/false);
  if (header.is_discarded() || !header.is_object()) refuse(path, "the header is not a JSON object", kWriteAgain);
  return header;
}

// A JSON array of whole numbers that fit; empty optional otherwise.
bool read_sizes(const json& entry, const char* key, std::vector<std::int64_t>& out) {
  auto found = entry.find(key);
  if (found == entry.end() || !found->is_array()) return false;
  for (const json& item : *found) {
    if (!item.is_number_unsigned() && !(item.is_number_integer() && item.get<std::int64_t>() >= 0)) return false;
    if (item.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return false;
    out.push_back(item.get<std::int64_t>());
  }
  return true;
}

DType read_dtype(const json& entry, const std::string& name, const std::string& path) {
  auto found = entry.find("dtype");
  if (found == entry.end() || !found->is_string())
    refuse(path, fmt::format("tensor '{}' has no dtype", name), kWriteAgain);
  for (const Spelling& s : kSpellings) {
    if (*found == s.name) return s.dtype;
  }
  refuse(path, fmt::format("tensor '{}' has dtype {}", name, found->get<std::string>()),
         "convert it to F16, BF16, F32 or I32");
}

// Bytes of a tensor of this shape, or -1 when the product does not fit 63 bits.
std::int64_t checked_bytes(const std::vector<std::int64_t>& shape, DType dtype) {
  std::int64_t bytes = bytes_of(dtype);
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  for (std::int64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return -1;
  }
  return bytes;
}

struct Located {
  std::string name;
  std::int64_t begin, end;
};

Located read_tensor(const std::string& name, const json& entry, std::int64_t data_bytes, const std::string& path,
                    HostTensor& tensor) {
  if (!entry.is_object()) refuse(path, fmt::format("the entry of tensor '{}' is not a JSON object", name), kWriteAgain);
  tensor.dtype = read_dtype(entry, name, path);
  if (!read_sizes(entry, "shape", tensor.shape)) {
    refuse(path, fmt::format("the shape of tensor '{}' is not a list of sizes", name), kWriteAgain);
  }
  std::vector<std::int64_t> offsets;
  if (!read_sizes(entry, "data_offsets", offsets) || offsets.size() != 2) {
    refuse(path, fmt::format("the data_offsets of tensor '{}' are not two sizes", name), kWriteAgain);
  }
  if (offsets[0] > offsets[1] || offsets[1] > data_bytes) {
    refuse(path, fmt::format("tensor '{}' lies at bytes {} to {} of {}", name, offsets[0], offsets[1], data_bytes),
           kWriteAgain);
  }
  std::int64_t wanted = checked_bytes(tensor.shape, tensor.dtype);
  if (wanted != offsets[1] - offsets[0]) {
    refuse(
        path,
        fmt::format("tensor '{}' of shape [{}] has {} bytes, its shape needs {}", name, fmt::join(tensor.shape, ", "),
                    offsets[1] - offsets[0], wanted < 0 ? std::string("more than 2^63") : std::to_string(wanted)),
        kWriteAgain);
  }
  return {name, offsets[0], offsets[1]};
}

// Tensors must cover the data once: an overlap would make one tensor alias another, a hole would hide bytes.
void check_cover(std::vector<Located> located, std::int64_t data_bytes, const std::string& path) {
  std::sort(located.begin(), located.end(),
            [](const Located& a, const Located& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  std::int64_t at = 0;
  for (const Located& tensor : located) {
    if (tensor.begin != at) {
      refuse(path,
             fmt::format("tensor '{}' starts at byte {}, the one before it ends at {}", tensor.name, tensor.begin, at),
             kWriteAgain);
    }
    at = tensor.end;
  }
  if (at != data_bytes) {
    refuse(path, fmt::format("the tensors end at byte {}, the data at {}", at, data_bytes), kWriteAgain);
  }
}

void read_metadata(const json& entry, const std::string& path, std::map<std::string, std::string>& out) {
  if (!entry.is_object()) refuse(path, "__metadata__ is not a JSON object", kWriteAgain);
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_string()) refuse(path, fmt::format("__metadata__ '{}' is not a string", key), kWriteAgain);
    out[key] = value.get<std::string>();
  }
}

const char* spelling_of(DType dtype) {
  for (const Spelling& s : kSpellings) {
    if (s.dtype == dtype) return s.name;
  }
  throw UserError({}, fmt::format("safetensors files here hold no {}", name_of(dtype)),
                  "convert it to f16, bf16, f32 or i32");
}

}  // namespace

HostTensor HostTensor::zeros(DType dtype, std::vector<std::int64_t> shape) {
  std::int64_t bytes = checked_bytes(shape, dtype);
  if (bytes < 0) {
    throw UserError({}, fmt::format("a tensor of shape [{}] has more than 2^63 bytes", fmt::join(shape, ", ")),
                    "use a smaller shape");
  }
  return {dtype, std::move(shape), std::vector<std::byte>(static_cast<std::size_t>(bytes))};
}

View HostTensor::view() { return View::contiguous(data.data(), dtype, shape, Memory::host); }

SafeTensors SafeTensors::parse(const std::vector<std::byte>& bytes, const std::string& path) {
  std::uint64_t header_size = read_header_size(bytes, path);
  json header = parse_header(reinterpret_cast<const char*>(bytes.data()) + kPrefix, header_size, path);
  const std::byte* data = bytes.data() + kPrefix + header_size;
  auto data_bytes = static_cast<std::int64_t>(bytes.size() - kPrefix - header_size);

  SafeTensors result;
  std::vector<Located> located;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      read_metadata(entry, path, result.metadata);
    } else {
      located.push_back(read_tensor(name, entry, data_bytes, path, result.tensors[name]));
    }
  }
  check_cover(located, data_bytes, path);
  for (const Located& at : located) result.tensors[at.name].data.assign(data + at.begin, data + at.end);
  return result;
}

SafeTensors SafeTensors::read(const std::string& path) {
  std::error_code error;
  std::uintmax_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file)
    refuse(path, "cannot be read: " + (error ? error.message() : std::string("permission denied")), "check the path");
  std::vector<std::byte> bytes(size);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (static_cast<std::uintmax_t>(file.gcount()) != size) {
    refuse(path, fmt::format("{} bytes could be read of {}", file.gcount(), size), "check the disk");
  }
  return parse(bytes, path);
}

std::vector<std::byte> SafeTensors::bytes() const {
  json header = json::object();
  std::int64_t at = 0;
  if (!metadata.empty()) header["__metadata__"] = metadata;
  for (const auto& [name, tensor] : tensors) {
    auto end = at + static_cast<std::int64_t>(tensor.data.size());
    header[name] = {{"dtype", spelling_of(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // tensors start 8-byte aligned

  std::vector<std::byte> result(kPrefix + text.size());
  std::uint64_t size = text.size();
  for (std::size_t i = 0; i < kPrefix; ++i) result[i] = static_cast<std::byte>(size >> (8 * i));
  std::memcpy(result.data() + kPrefix, text.data(), text.size());
  for (const auto& [name, tensor] : tensors) result.insert(result.end(), tensor.data.begin(), tensor.data.end());
  return result;
}

void SafeTensors::write(const std::string& path) const {
  std::vector<std::byte> content = bytes();
  std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(temporary, path, error);
  if (!file || error) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    refuse(path, fmt::format("{} bytes cannot be written{}", content.size(), error ? ": " + error.message() : ""),
           "check that the directory exists, is writable and has room");
  }
}

HostTensor& SafeTensors::at(const std::string& name, const std::string& path) {
  auto found = tensors.find(name);
  if (found != tensors.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [key, tensor] : tensors) names.push_back(key);
  refuse(path, fmt::format("there is no tensor '{}'", name), fmt::format("the file has: {}", fmt::join(names, ", ")));
}

}  // namespace tessera
