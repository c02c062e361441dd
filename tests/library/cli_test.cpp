// The `tessera` command, run as a user runs it: exit codes, one line for an error, JSON that parses.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "library/cli_case.h"
#include "support/reference.h"

using namespace tessera;
using namespace tessera::test;
using nlohmann::json;

namespace {

constexpr const char* kSmall = " --query-length 512 --key-length 512 --heads 2 --head-dim 64";

}  // namespace

TEST_CASE("patterns lists every pattern with its parameters") {
  Folder folder;
  json all = json::parse(tessera_command(folder, "patterns --json").text);
  bool window = false;
  for (const json& pattern : all) {
    if (pattern.at("name") != "window") continue;
    window = true;
    CHECK(pattern.at("parameters").at(0).at("name") == "left");
    CHECK(pattern.at("parameters").at(0).at("default") == "1023");
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
  Output out =
      tessera_command(folder, "run window --left 20 --right 0 --input " + write_inputs(folder, "in.safetensors") +
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

TEST_CASE("run computes nothing for no queries") {
  Folder folder;
  SafeTensors input;
  input.tensors["q"] = random_tensor({1, 4, 0, 32}, 1);
  input.tensors["k"] = random_tensor({1, 2, 90, 32}, 2);
  input.tensors["v"] = random_tensor({1, 2, 90, 32}, 3);
  input.write(folder.file("in.safetensors"));
  const Output out = tessera_command(
      folder, "run causal --input " + folder.file("in.safetensors") + " --output " + folder.file("out.safetensors"));
  CAPTURE(out.error);
  REQUIRE(out.code == 0);
  SafeTensors result = SafeTensors::read(folder.file("out.safetensors"));
  CHECK(result.tensors.at("o").shape == std::vector<std::int64_t>{1, 4, 0, 32});
  CHECK(result.tensors.at("lse").shape == std::vector<std::int64_t>{1, 4, 0});
}

TEST_CASE("documents say how many tokens there are; lengths that are given win") {
  Folder folder;
  const auto shapes = [&](const std::string& more) {
    Output out = tessera_command(folder, "explain documents --lengths 100,200 --heads 1 --head-dim 32 --json " + more);
    CAPTURE(out.error);
    REQUIRE(out.code == 0);
    const json shapes = json::parse(out.text).at("shapes");
    return std::pair<int, int>(shapes.at("query_length"), shapes.at("key_length"));
  };
  CHECK(shapes("") == std::pair(300, 300));
  CHECK(shapes("--query-length 1") == std::pair(1, 300));
  CHECK(shapes("--key-length 150") == std::pair(300, 150));
}

TEST_CASE("lengths and heads have their defaults") {
  Folder folder;
  const json e =
      json::parse(tessera_command(folder, "explain full --query-length 200 --heads 3 --head-dim 32 --json").text);
  CHECK(e.at("shapes").at("key_length") == 200);
  CHECK(e.at("shapes").at("kv_heads") == 3);
  CHECK(e.at("shapes").at("value_dim") == 32);
  const json other = json::parse(
      tessera_command(folder, "explain full --key-length 0 --heads 4 --kv-heads 2 --value-dim 16 --head-dim 32 --json")
          .text);
  CHECK(other.at("shapes").at("query_length") == 4096);
  CHECK(other.at("shapes").at("key_length") == 0);
  CHECK(other.at("shapes").at("kv_heads") == 2);
  CHECK(other.at("shapes").at("value_dim") == 16);
}

TEST_CASE("the default window of the command is one of 1024 keys, with sinks as without") {
  Folder folder;
  const auto tiles = [&](const std::string& pattern) {
    return json::parse(tessera_command(folder, "explain " + pattern + " --head-dim 64 --json").text).at("tiles");
  };
  CHECK(tiles("window") == tiles("window --left 1023 --right 0"));
  CHECK(tiles("sinks --count 0") == tiles("window"));
}

TEST_CASE("bench lists its workloads without a GPU") {
  Folder folder;
  const json quick = json::parse(tessera_command(folder, "bench --list --json --suite quick").text);
  CHECK(quick.size() == 9);
  CHECK(quick.at(0).at("workload") == "dense_n16k_d64");
  CHECK(quick.at(0).at("mask").at("kind") == "full");
  const std::string chosen = tessera_command(folder, "bench --list --only prefix,gqa").text;
  CHECK(std::count(chosen.begin(), chosen.end(), '\n') == 2);
  CHECK(chosen.find("prefix2k_n16k_d128          1 x 16 over 16 x 16384, d128, density 0.5078\n") != std::string::npos);
}

TEST_CASE("version, and help that says where options and exit codes are") {
  Folder folder;
  CHECK(tessera_command(folder, "--version").text == "tessera " TESSERA_VERSION "\n");
  CHECK(json::parse(tessera_command(folder, "--version --json").text) == json{{"version", TESSERA_VERSION}});
  Output help = tessera_command(folder, "--help");
  CHECK(help.code == 0);
  CHECK(help.text.find("Exit code: 0, 1 for") != std::string::npos);
  Output pattern = tessera_command(folder, "explain window --help");
  CHECK(pattern.code == 0);
  CHECK(pattern.text.find("--left VALUE                keys before it (default: 1023)") != std::string::npos);
  CHECK(tessera_command(folder, "explain --help").text.find("tessera explain [OPTIONS] PATTERN\n") !=
        std::string::npos);
  CHECK(help.text.find("tessera [OPTIONS] COMMAND\n") != std::string::npos);
  for (const char* command : {"bench", "patterns"}) {
    help = tessera_command(folder, std::string(command) + " --help");
    CHECK(help.text.find("is followed by its pattern") == std::string::npos);
    CHECK(help.text.find("Exit code: 0, 1 for") != std::string::npos);
  }
  CHECK(pattern.text.find("Options of explain may follow too: see tessera explain --help.") != std::string::npos);
}
