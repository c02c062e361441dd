// The `tessera` command as its user runs it: in a folder of the test's own, on the CPU.
#pragma once

#include <string>

#include <tessera/library/safetensors.h>

namespace tessera::test {

struct Output {
  int code;
  std::string text, error;
};

std::string read_all(const std::string& path);

// Removed at the end; also the cache's, so that nothing is left behind.
struct Folder {
  Folder();
  ~Folder();
  std::string file(const std::string& name) const { return path + "/" + name; }
  std::string path;
};

Output tessera_command(const Folder& folder, const std::string& arguments);

HostTensor random_tensor(std::vector<std::int64_t> shape, std::uint64_t seed);
// A file with small q, k and v, for attention of 70 queries over 90 keys.
std::string write_inputs(const Folder& folder, const std::string& name);

}  // namespace tessera::test
