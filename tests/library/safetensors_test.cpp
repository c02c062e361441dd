// Safetensors files: what is written reads back, and no file, however damaged, is more than refused.
#include <tessera/library/safetensors.h>

#include <cstring>
#include <random>

#include <doctest/doctest.h>

using namespace tessera;

namespace {

HostTensor tensor(DType dtype, std::vector<std::int64_t> shape) {
  HostTensor t = HostTensor::zeros(dtype, std::move(shape));
  for (std::size_t i = 0; i < t.data.size(); ++i) t.data[i] = static_cast<std::byte>(i * 37 + 1);
  return t;
}

SafeTensors example() {
  SafeTensors file;
  file.metadata = {{"source", "test"}};
  file.tensors["q"] = tensor(DType::bf16, {2, 3, 5});
  file.tensors["k"] = tensor(DType::f16, {7});
  file.tensors["bias"] = tensor(DType::f32, {});
  file.tensors["ids"] = tensor(DType::i32, {4, 1});
  file.tensors["none"] = tensor(DType::f32, {3, 0, 2});
  return file;
}

std::vector<std::byte> file_with_header(const std::string& header, std::size_t data_bytes) {
  std::vector<std::byte> bytes(8 + header.size() + data_bytes);
  std::uint64_t size = header.size();
  std::memcpy(bytes.data(), &size, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  return bytes;
}

}  // namespace

TEST_CASE("what is written reads back") {
  SafeTensors file = example(), back = SafeTensors::parse(file.bytes(), "x");
  CHECK(back.metadata == file.metadata);
  REQUIRE(back.tensors.size() == file.tensors.size());
  for (const auto& [name, t] : file.tensors) {
    CHECK(back.tensors[name].dtype == t.dtype);
    CHECK(back.tensors[name].shape == t.shape);
    CHECK(back.tensors[name].data == t.data);
  }
}

TEST_CASE("the layout is the published one") {
  SafeTensors file;
  file.tensors["t"] = tensor(DType::i32, {2});
  std::vector<std::byte> bytes = file.bytes();
  std::string header(reinterpret_cast<const char*>(bytes.data()) + 8, bytes.size() - 8 - 8);
  CHECK(bytes.size() % 8 == 0);
  CHECK(header.substr(0, header.find_last_not_of(' ') + 1) ==
        R"({"t":{"data_offsets":[0,8],"dtype":"I32","shape":[2]}})");
}

TEST_CASE("every truncation of a file is refused") {
  std::vector<std::byte> whole = example().bytes();
  for (std::size_t n = 0; n < whole.size(); ++n) {
    std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    CHECK_THROWS_AS(SafeTensors::parse(part, "x"), UserError);
  }
}

TEST_CASE("a damaged byte of the header is refused or reads as some file, never more") {
  std::vector<std::byte> whole = example().bytes();
  std::mt19937 random(1);
  for (int i = 0; i < 4000; ++i) {
    std::vector<std::byte> damaged = whole;
    damaged[random() % 300] = static_cast<std::byte>(random());
    try {
      SafeTensors file = SafeTensors::parse(damaged, "x");
      for (const auto& [name, t] : file.tensors) CHECK(t.data.size() <= whole.size());
    } catch (const UserError&) {
    }
  }
}

TEST_CASE("headers that lie are refused") {
  for (
      const char* header :
      {R"([])", R"(17)", R"({"t":3})", R"({"t":{}})", R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0]}})",
       R"({"t":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})",
       R"({"t":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})",
       R"({"t":{"dtype":"F32","shape":["1"],"data_offsets":[0,4]}})",
       R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})",
       R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})",
       R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
       R"({"t":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})",
       R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[18446744073709551612,18446744073709551615]}})",
       R"({"t":{"dtype":"F64","shape":[1],"data_offsets":[0,4]}})",
       R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       R"({"__metadata__":{"x":1},"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", R"({})"}) {
    CAPTURE(header);
    CHECK_THROWS_AS(SafeTensors::parse(file_with_header(header, 4), "x"), UserError);
  }
  CHECK_NOTHROW(
      SafeTensors::parse(file_with_header(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4), "x"));
}
