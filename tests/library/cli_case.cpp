#include "library/cli_case.h"

#include <unistd.h>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "support/reference.h"

namespace tessera::test {

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Folder::Folder()
    : path((std::filesystem::temp_directory_path() / ("tessera_cli_test_" + std::to_string(::getpid()))).string()) {
  std::filesystem::create_directories(path);
}
Folder::~Folder() { std::filesystem::remove_all(path); }

Output tessera_command(const Folder& folder, const std::string& arguments) {
  std::string out = folder.file("out.txt"), err = folder.file("err.txt");
  std::string line = "TESSERA_CACHE_DIR=" + folder.file("cache") + " TESSERA_DEVICE=cpu " TESSERA_COMMAND " " +
                     arguments + " >" + out + " 2>" + err;
  int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_all(out), read_all(err)};
}

HostTensor random_tensor(std::vector<std::int64_t> shape, std::uint64_t seed) {
  TestTensor values(DType::bf16, shape);
  values.fill_normal(seed);
  HostTensor tensor = HostTensor::zeros(DType::bf16, shape);
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::int64_t i = 0; i < values.elements(); ++i) {
    auto bits = static_cast<const std::uint16_t*>(values.view().data)[values.offset(index)];
    std::memcpy(tensor.data.data() + 2 * i, &bits, 2);
    next_index(index, shape);
  }
  return tensor;
}

std::string write_inputs(const Folder& folder, const std::string& name) {
  SafeTensors input;
  input.tensors["q"] = random_tensor({1, 4, 70, 32}, 1);
  input.tensors["k"] = random_tensor({1, 2, 90, 32}, 2);
  input.tensors["v"] = random_tensor({1, 2, 90, 32}, 3);
  input.write(folder.file(name));
  return folder.file(name);
}

}  // namespace tessera::test
