// What tuning chooses from, and its form on disk.
#include <tessera/library/tune_choice.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::library;
using json = nlohmann::ordered_json;

TEST_CASE("choices start with the default, are unique, and survive being written") {
  const std::vector<TuneChoice> all = tune_choices();
  CHECK(all.front() == TuneChoice{});
  CHECK(all.size() > 50);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(to_string(all[i]));
    CHECK(std::count(all.begin(), all.end(), all[i]) == 1);
    const auto read = parse_choice(json::parse(to_json(all[i]).dump()));
    REQUIRE(read);
    CHECK(*read == all[i]);
  }
}

TEST_CASE("a choice of another form does not read") {
  const json good = to_json({{128, 96}, {}});
  REQUIRE(parse_choice(good));
  const auto without = [&](const char* name) {
    json value = good;
    value["schedule"].erase(name);
    return value;
  };
  const auto with = [&](const char* name, const json& field) {
    json value = good;
    value["schedule"][name] = field;
    return value;
  };
  const auto tiled = [&](const json& tile) {
    json value = good;
    value["tile"] = tile;
    return value;
  };
  for (const json& bad : {json(),
                          json::array(),
                          json{{"tile", {128, 96}}},
                          json{{"schedule", good["schedule"]}},
                          without("stages"),
                          without("overlap"),
                          with("cluster", 2),
                          with("stages", "two"),
                          with("stages", 2.5),
                          with("overlap", 1),
                          with("turns", 1),
                          with("warpgroups", true),
                          tiled(128),
                          tiled({128}),
                          tiled({128, 96, 2}),
                          tiled({100, 96}),
                          tiled({128, 90}),
                          tiled({256, 96}),
                          tiled({128, 512}),
                          tiled({0, 96}),
                          tiled({128, -16}),
                          tiled({"128", 96})}) {
    CAPTURE(bad.dump());
    CHECK(!parse_choice(bad));
  }
}

// Kernels are kept under this text.
TEST_CASE("schedules that differ in anything differ in their text") {
  const backend::Schedule all[] = {{},
                                   {.warpgroups = 2},
                                   {.stages = 3},
                                   {.blocks = 1},
                                   {.blocks = 2},
                                   {.persistent = false},
                                   {.overlap = false},
                                   {.turns = false},
                                   {.turns = true},
                                   {.skip_ones = false},
                                   {.skip_ones = true}};
  std::set<std::string> texts;
  for (const backend::Schedule& schedule : all) texts.insert(to_string(schedule));
  CHECK(texts.size() == std::size(all));
}
