// Reading and writing safetensors files: named tensors, packed one after another behind a JSON header.
//
//   u64 header bytes | {"q": {"dtype": "BF16", "shape": [1, 8, 512, 64], "data_offsets": [0, 524288]}, ...} | data
//
// A file is untrusted: sizes are checked against the file's before anything is allocated, and every refusal is a
// UserError that names the file, the tensor and the numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <tessera/dsl/ir/arguments.h>

namespace tessera {

// A contiguous tensor that owns its bytes.
struct TESSERA_API HostTensor {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;

  static HostTensor zeros(DType dtype, std::vector<std::int64_t> shape);
  View view();
};

struct TESSERA_API SafeTensors {
  std::map<std::string, HostTensor> tensors;
  std::map<std::string, std::string> metadata;  // the header's "__metadata__"

  // Elements may be F16, BF16, F32 or I32.
  static SafeTensors read(const std::string& path);
  static SafeTensors parse(const std::vector<std::byte>& bytes, const std::string& path);  // `path` is for messages

  // Through a temporary file in the same directory: a reader sees the old file or the new one.
  void write(const std::string& path) const;
  std::vector<std::byte> bytes() const;

  HostTensor& at(const std::string& name, const std::string& path);  // UserError that lists the names in the file
};

}  // namespace tessera
