// The `tessera` command, run as a user runs it: exit codes, one line for an error, JSON that parses.
#include <unistd.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <algorithm>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <tessera/library/safetensors.h>

#include "support/reference.h"

using namespace tessera;
using nlohmann::json;

namespace {

struct Output {
  int code;
  std::string text, error;
};

std::string read_all(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A folder of this test's own; also the cache's, so that nothing is left behind.
struct Folder {
  std::string path =
      (std::filesystem::temp_directory_path() / ("tessera_cli_test_" + std::to_string(::getpid()))).string();
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name) const { return path + "/" + name; }
};

Output tessera_command(const Folder& folder, const std::string& arguments) {
  std::string out = folder.file("out.txt"), err = folder.file("err.txt");
  std::string line = "TESSERA_CACHE_DIR=" + folder.file("cache") + " TESSERA_DEVICE=cpu " TESSERA_COMMAND " " +
                     arguments + " >" + out + " 2>" + err;
  int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_all(out), read_all(err)};
}

constexpr const char* kSmall = " --query-length 512 --key-length 512 --heads 2 --head-dim 64";

HostTensor random_tensor(std::vector<std::int64_t> shape, std::uint64_t seed) {
  test::TestTensor values(DType::bf16, shape);
  values.fill_normal(seed);
  HostTensor tensor = HostTensor::zeros(DType::bf16, shape);
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::int64_t i = 0; i < values.elements(); ++i) {
    auto bits = static_cast<const std::uint16_t*>(values.view().data)[values.offset(index)];
    std::memcpy(tensor.data.data() + 2 * i, &bits, 2);
    test::next_index(index, shape);
  }
  return tensor;
}

}  // namespace

TEST_CASE("patterns lists every pattern with its parameters") {
  Folder folder;
  json all = json::parse(tessera_command(folder, "patterns --json").text);
  bool window = false;
  for (const json& pattern : all) {
    if (pattern.at("name") != "window") continue;
    window = true;
    CHECK(pattern.at("parameters").at(0).at("name") == "left");
    CHECK(pattern.at("parameters").at(0).at("default") == "1024");
  }
  CHECK(window);
  Output text = tessera_command(folder, "patterns");
  CHECK(text.code == 0);
  CHECK(text.text.find("--left") != std::string::npos);
}

TEST_CASE("inspect shows the program at each stage of the language") {
  Folder folder;
  for (auto [stage, wanted] : {std::pair{"traced", "kernel forward traced grid(Query, Head, Batch)"},
                               {"tiled", "kernel forward tiled grid("}}) {
    Output out = tessera_command(folder, std::string("inspect window --left 100 --right 0 --stage ") + stage + kSmall);
    CAPTURE(out.error);
    CHECK(out.code == 0);
    CHECK(out.text.find(wanted) == 0);
    Output again =
        tessera_command(folder, std::string("inspect window --json --left 100 --right 0 --stage ") + stage + kSmall);
    CHECK(json::parse(again.text).at("text").get<std::string>().find(wanted) == 0);
  }
}

TEST_CASE("inspect goes down to the PTX, and explain says what it costs") {
  Folder folder;
  Output placed = tessera_command(folder, std::string("inspect causal --stage placed") + kSmall);
  CAPTURE(placed.error);
  CHECK(placed.text.find("kernel forward placed") == 0);
  CHECK(tessera_command(folder, std::string("inspect causal --stage llvm") + kSmall)
            .text.find("target triple = \"nvptx64") != std::string::npos);
  CHECK(tessera_command(folder, std::string("inspect causal --stage ptx") + kSmall).text.find("wgmma.mma_async") !=
        std::string::npos);

  Output out = tessera_command(folder, std::string("explain causal --json") + kSmall);
  CAPTURE(out.error);
  REQUIRE(out.code == 0);
  json e = json::parse(out.text);
  for (const char* key : {"device", "assembler", "registers", "spill_bytes", "shared_bytes"}) CHECK(e.contains(key));
  for (const char* part : {"trace", "plan", "passes", "llvm", "assemble"})
    CHECK(e.at("compile_ms").at(part).is_number());
  const json& source = e.at("passes").at(0).at("sources").at(0);
  int query_tile = e.at("passes").at(0).at("query_tile"), key_tile = source.at("key_tile");
  CHECK(e.at("passes").at(0).at("query_order") == "[1:" + std::to_string(query_tile) + "]");
  CHECK(source.at("key_order") == "[1:" + std::to_string(key_tile) + "]");
  // Causal over 512: rows and columns of tiles, two heads.
  const auto tiles = [](int tokens, int tile) { return (tokens + tile - 1) / tile; };
  std::int64_t total = 2LL * tiles(512, query_tile) * tiles(512, key_tile), visited = 0;
  for (int q = 0; q < 512; q += query_tile) visited += 2LL * tiles(std::min(q + query_tile, 512), key_tile);
  CHECK(e.at("tiles").at("total") == total);
  CHECK(e.at("tiles").at("visited") == visited);
  CHECK(e.at("tiles").at("full").get<std::int64_t>() + e.at("tiles").at("partial").get<std::int64_t>() == visited);
  CHECK(e.at("shared_bytes").get<int>() > 0);
}

TEST_CASE("run computes attention over a file") {
  Folder folder;
  SafeTensors input;
  input.tensors["q"] = random_tensor({1, 4, 70, 32}, 1);
  input.tensors["k"] = random_tensor({1, 2, 90, 32}, 2);
  input.tensors["v"] = random_tensor({1, 2, 90, 32}, 3);
  input.write(folder.file("in.safetensors"));
  Output out = tessera_command(folder, "run window --left 20 --right 0 --input " + folder.file("in.safetensors") +
                                           " --output " + folder.file("out.safetensors") + " --json");
  CAPTURE(out.error);
  REQUIRE(out.code == 0);
  CHECK(json::parse(out.text).at("device") == "CPU (interpreter)");

  test::TestTensor q(DType::bf16, {1, 4, 70, 32}), k(DType::bf16, {1, 2, 90, 32}), v(DType::bf16, {1, 2, 90, 32});
  q.fill_normal(1);
  k.fill_normal(2);
  v.fill_normal(3);
  test::Problem problem{.q = &q, .k = &k, .v = &v, .scale = 1 / std::sqrt(32.0)};
  problem.allowed = [](const test::Pair& p) { return p.k <= p.q + 20 && p.k >= p.q; };
  test::Result exact = test::attention_fp64(problem);
  SafeTensors result = SafeTensors::read(folder.file("out.safetensors"));
  CHECK(result.tensors.at("o").shape == std::vector<std::int64_t>{1, 4, 70, 32});
  std::vector<double> lse;
  for (std::size_t i = 0; i < exact.lse.size(); ++i) {
    float value;
    std::memcpy(&value, result.tensors.at("lse").data.data() + 4 * i, 4);
    lse.push_back(value);
  }
  CHECK(test::max_difference(lse, exact.lse) <= test::tolerance(problem, exact).lse);
}

TEST_CASE("an error is one line on standard error and exit code 1; nothing is written") {
  Folder folder;
  for (auto [arguments, wanted] : {
           std::pair<const char*, const char*>{"explain window --left -1",
                                               "tessera: error: the window is (-1, 0); note: "},
           {"explain window --left many",
            "tessera: error: --left of pattern 'window' is 'many'; note: give a whole number of 32 bits"},
           {"explain prefix", "tessera: error: pattern 'prefix' needs --length; note: keys of the prefix"},
           {"explain causal --head-dim 100", "tessera: error: head_dim is 100, not a multiple of 8; note: "},
           {"explain causal --dtype f32", "tessera: error: dtype is f32; note: attention takes f16 or bf16"},
           {"explain documents --lengths 100,200 --query-length 4096",
            "tessera: error: table 'document' of shape [300] is read along its dim 0 by"},
           {"explain causal --heads 8 --kv-heads 3",
            "tessera: error: 8 query heads do not divide evenly over 3 key and value heads; note: "},
           {"run causal --input missing.safetensors --output x",
            "tessera: error: missing.safetensors: cannot be read: No such file or directory; note: check the path"},
           {"explain spiral", "tessera: error: "},
           {"explain", "tessera: error: "},
           {"", "tessera: error: "},
       }) {
    std::string line = arguments;  // clang 14 captures no structured binding
    CAPTURE(line);
    Output out = tessera_command(folder, line);
    CHECK(out.code == 1);
    CHECK(out.text.empty());
    CHECK(out.error.find(wanted) == 0);
    CHECK(std::count(out.error.begin(), out.error.end(), '\n') == 1);
  }
  CHECK(tessera_command(folder, "--help").code == 0);
  CHECK(tessera_command(folder, "explain window --help").text.find("--left") != std::string::npos);
}
