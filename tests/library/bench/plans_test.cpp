// What plans of workloads take to make and are predicted to take, beside what was measured.
#include <tessera/library/bench/plans.h>

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <map>

#include "support/sanitized.h"

using namespace tessera;
using namespace tessera::bench;

namespace {

// Of the last run of each workload: some were measured again once their plans had changed.
std::map<std::string, nlohmann::json> measured_rows() {
  std::map<std::string, nlohmann::json> rows;
  for (const char* suite : {"standard", "all"}) {
    std::ifstream file(std::string(TESSERA_TESTS_DIR "/perf/results/2026-12-01-nvidia-h200-") + suite + ".json");
    REQUIRE(file.good());
    const nlohmann::json result = nlohmann::json::parse(file);
    for (const nlohmann::json& row : result.at("rows")) rows[row.at("workload")] = row;
  }
  return rows;
}

const Workload& named(const std::vector<Workload>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Workload& w) { return w.name == name; });
  REQUIRE(found != all.end());
  return *found;
}

}  // namespace

TEST_CASE("the standard suite takes what it is predicted to take") {
  const std::vector<Workload> standard = suite("standard");
  const std::map<std::string, nlohmann::json> rows = measured_rows();
  std::vector<std::string> beyond;
  for (const Workload& workload : standard) {
    const std::string& name = workload.name;
    CAPTURE(name);
    const nlohmann::json& row = rows.at(name);
    const PlanRow plan = plan_of(workload);
    // The prediction is of the plan that was measured.
    CHECK(plan.plan.counts().visited == row.at("tiles").at("visited").get<std::int64_t>());
    const double ratio = row.at("tessera_ms").get<double>() / plan.predicted_ms;
    CAPTURE(ratio);
    CHECK(std::abs(std::log(ratio)) < std::log(1.25));
    if (std::abs(std::log(ratio)) > std::log(1.15)) beyond.push_back(name);
  }
  // Partial tiles whose predicate reads a table cost more than others, which the model does not know.
  CHECK(beyond == std::vector<std::string>{"docs_causal_n16k_d128"});
}

TEST_CASE("plans of spans hold no list at any length") {
  int longest = 0;
  for (const Workload& workload : suite("lengths")) {
    CAPTURE(workload.name);
    const std::string& kind = workload.mask.kind;
    if (kind == "blocks") continue;                                                     // listed
    if (workload.tokens > 16384 && (kind == "strided" || kind == "dilated")) continue;  // searched for up to seconds
    const PlanRow row = plan_of(workload);
    CHECK(row.list_bytes == 0);
    CHECK(row.plan_ms < (test::kSanitized ? 3000 : 300));  // up to 40 on an idle machine
    CHECK(row.predicted_ms > 0);
    longest += workload.tokens == 1 << 20;
  }
  CHECK(longest == 6);
}

TEST_CASE("rows of plans as text and as JSON") {
  const PlanRow row = plan_of(named(suite("standard"), "bigbird_n16k_d64"));
  CHECK(row.list_bytes > 0);
  const nlohmann::ordered_json json = plans_json({row});
  CHECK(json.at(0).at("workload") == "bigbird_n16k_d64");
  CHECK(json.at(0).at("schedule") == "list");
  CHECK(json.at(0).at("list_bytes") == row.list_bytes);
  CHECK(json.at(0).at("orders") == "Q[1:64] K[1:64]");
  CHECK(json.at(0).at("tiles").at("partial") == 0);
  const std::string text = plans_text({row});
  CHECK(text.find("bigbird_n16k_d64") != std::string::npos);
  CHECK(text.find("predicted, ms") != std::string::npos);
  CHECK(text.find("Q[1:64] K[1:64]") != std::string::npos);
}
