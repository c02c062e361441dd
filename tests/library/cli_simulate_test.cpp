// tessera simulate: the same numbers as text and as JSON, for searched and for given orders.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "library/cli_case.h"

using namespace tessera::test;
using json = nlohmann::ordered_json;

namespace {

json simulated(const Folder& folder, const std::string& arguments) {
  const Output out = tessera_command(folder, "simulate " + arguments + " --json");
  REQUIRE(out.code == 0);
  return json::parse(out.text);
}

}  // namespace

TEST_CASE("simulate predicts a window's tiles and time") {
  Folder folder;
  const std::string window = "window --left 1024 --right 0 --query-length 32768 --heads 16";
  const json result = simulated(folder, window);
  const json& best = result.at("plans").at(0);
  CHECK(best.at("plan") == "Q[1:128]/128 K[1:128]");
  CHECK(best.at("ms").get<double>() == doctest::Approx(0.4882).epsilon(0.01));
  const json& source = best.at("passes").at(0).at("sources").at(0);
  CHECK(source.at("tiles").at("worst") == 9.0);
  CHECK(source.at("tiles").at("mean").get<double>() == doctest::Approx(8.859).epsilon(0.001));
  CHECK(result.at("live_bound").get<double>() == doctest::Approx(32.48).epsilon(0.001));
  CHECK(best.at("tile_bound").get<double>() < result.at("live_bound").get<double>());
  for (std::size_t i = 1; i < result.at("plans").size(); ++i)
    CHECK(result.at("plans").at(i).at("ms").get<double>() >= best.at("ms").get<double>());
  CHECK(result.at("candidates").size() == 2);

  const std::string text = tessera_command(folder, "simulate " + window).text;
  CHECK(text.find("problem    batch 1, heads 16, 32768 queries x 32768 keys, d128\n") == 0);
  CHECK(text.find("live       3.08 % of the pairs: 32.48 x less work than dense attention\n") != std::string::npos);
  CHECK(text.find("Q[1:128]/128 K[1:128]     0.4882       8.9       9    78%") != std::string::npos);
}

TEST_CASE("simulate rates given orders") {
  Folder folder;
  const json result = simulated(
      folder, "block-diagonal --size 512 --query-length 4096 --query-order 512:1,1:64 --key-order 512:1,1:128");
  CHECK(result.at("candidates").empty());
  REQUIRE(result.at("plans").size() == 1);
  const json& plan = result.at("plans").at(0);
  CHECK(plan.at("plan") == "Q[512:1, 1:64]/64 K[512:1, 1:128]");
  CHECK(plan.at("tile_bound") == 8.0);
  CHECK(plan.at("worst_bound") == 8.0);
  CHECK(plan.at("waste") == 1.0);
  CHECK(plan.at("exact") == true);
}

TEST_CASE("simulate refuses digits that are no order") {
  Folder folder;
  const auto refusal = [&](const std::string& order) {
    const Output out = tessera_command(folder, "simulate causal --query-order " + order);
    CHECK(out.code == 1);
    return out.error;
  };
  for (const char* order : {"4:2", "1", "1:0", "1:4-4", "4:1,4:1,1:1", "2:1,1:x", "x:1", "5:1,4:1,3:1,2:1,1:1", "1:8,"})
    CHECK(refusal(order) == std::string("tessera: error: --query-order is '") + order +
                                "'; note: give one to four digits of falling weights that end in 1, as 128:8,1:16 or "
                                "112:7-4,1:7-4\n");
}
