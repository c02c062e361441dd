// The quick suite, measured: `tessera bench --suite quick --json` gives a figure for every row, and none that the
// machine cannot have. How fast is fast enough is for tests/perf to say, on a machine that does nothing else.
#include <doctest/doctest.h>

#include <map>

#include <nlohmann/json.hpp>

#include <tessera/library/bench/workload.h>
#include <tessera/library/cli/commands.h>

#include "gpu/device_case.h"

using namespace tessera;
using json = nlohmann::ordered_json;

namespace {

json measured(const std::vector<const char*>& options) {
  std::vector<const char*> line = {"tessera", "bench", "--json"};
  line.insert(line.end(), options.begin(), options.end());
  return json::parse(cli::bench(cli::parse(static_cast<int>(line.size()), line.data())));
}

// A multiprocessor does 4096 operations of 16-bit products a cycle. No clock is above 2.2 GHz.
double most_tflops() { return 4096 * 2.2e9 * test::test_device().info().multiprocessors / 1e12; }

void check_row(const json& row) {
  CAPTURE(row.at("workload").get<std::string>());
  CAPTURE(row.dump());
  REQUIRE_FALSE(row.contains("error"));
  const double best = row.at("best_ms"), median = row.at("tessera_ms"), sustained = row.at("sustained_ms");
  CHECK(best > 0);
  CHECK(best <= median);
  CHECK(sustained > best / 2);  // back to back it may be faster: what it reads is in the cache
  CHECK(row.at("tflops").get<double>() > 10);
  CHECK(row.at("tflops").get<double>() < most_tflops());
  CHECK(row.at("host_us").get<double>() > 0);
  CHECK(row.at("host_us").get<double>() < 1000);
  CHECK(row.at("launches").get<int>() >= 5);
  CHECK(row.at("spill_bytes").get<int>() == 0);
  const double share = row.at("tile_bound_share");  // 1 of a dense row: it is held against itself
  CHECK(share > 0.5);
  CHECK(share < 1.3);
  if (row.at("mask") != "full") return;
  const json& tiles = row.at("tiles");
  CHECK(tiles.at("visited") == tiles.at("total"));
}

}  // namespace

TEST_CASE("every row of the quick suite has its figures") {
  const json report = measured({"--suite", "quick", "--repeat", "7"});
  CHECK(report.at("suite") == "quick");
  CHECK(report.at("device") == test::test_device().info().name);
  const auto wanted = bench::suite("quick");
  const json& rows = report.at("rows");
  REQUIRE(rows.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CHECK(rows[i].at("workload") == wanted[i].name);
    check_row(rows[i]);
  }
}

// Coarsely: other work on the machine must not fail it. tests/perf/README.md holds them to 2 %.
TEST_CASE("strided views are not copied: they take about as long as contiguous tensors") {
  const json report = measured({"--suite", "all", "--only", "n4k_d128", "--repeat", "15"});
  std::map<std::string, double> best;
  for (const json& row : report.at("rows")) {
    check_row(row);
    best[row.at("workload")] = row.at("best_ms");
  }
  for (const char* name : {"dense_n4k_d128", "causal_n4k_d128"})
    for (const char* view : {"_bnhd", "_padded"}) {
      CAPTURE(std::string(name) + view);
      CHECK(best.at(std::string(name) + view) < 1.15 * best.at(name));
    }
}
