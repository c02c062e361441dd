// What a benchmark reports: figures that follow from times, and their form.
#include <tessera/library/bench/report.h>
#include <tessera/library/bench/tuning.h>

#include <doctest/doctest.h>

using namespace tessera;
using namespace tessera::bench;
using json = nlohmann::ordered_json;

namespace {

// Attention::explain_json of a workload with `visited` tiles of 128 x 128, as far as reports read it.
json explained(const Workload& w, std::int64_t visited) {
  return {{"shapes", {{"batch", w.batch}, {"heads", w.heads}, {"query_length", w.tokens}}},
          {"passes", {{{"query_tile", 128}, {"sources", {{{"key_tile", 128}, {"tiles", {{"visited", visited}}}}}}}}},
          {"tiles", {{"total", visited}, {"visited", visited}, {"full", visited}, {"partial", 0}}},
          {"schedule", "warpgroups 2, stages 2, overlap"},
          {"registers", 168},
          {"predicted_ms", 0.4},
          {"spill_bytes", 0},
          {"shared_bytes", 1024},
          {"compile_ms", {{"llvm", 60.5}}},
          {"notes", json::array()}};
}

Row row(const Workload& w, double ms, std::int64_t visited) {
  Measured m;
  m.single = {ms, 0.9 * ms, 4.126, 30};
  m.sustained_ms = 1.1 * ms;
  m.first_call_ms = 500.12345;
  m.explained = explained(w, visited);
  m.tiles = tiles_of(m.explained);
  return {w, m, "", std::nullopt};
}

Workload workload(const std::string& name) { return only(suite("standard"), {name}).front(); }

const RunInfo kInfo{"NVIDIA H200", "2026-11-30", "abc1234", "standard"};

}  // namespace

TEST_CASE(
    "the tile bound counts tiles, and a part of a tile for each query tile, at the dense kernel's time per tile") {
  const TileWork dense{.visited = 1000, .query_tiles = 10, .query_tile = 128, .key_tile = 128};
  const TileWork same{.visited = 100, .query_tiles = 10, .query_tile = 128, .key_tile = 128};
  const TileWork small{.visited = 100, .query_tiles = 10, .query_tile = 64, .key_tile = 96};
  CHECK(tile_bound_ms({same}, dense, 5) == doctest::Approx((100 + 14) * 5.0 / 1000));
  CHECK(tile_bound_ms({small}, dense, 5) == doctest::Approx(114 * 0.375 * 5.0 / 1000));
  CHECK(tile_bound_ms({same, small}, dense, 5) == doctest::Approx(114 * 1.375 * 5.0 / 1000));
  CHECK(tile_bound_ms({same}, {}, 5) == 0);
}

TEST_CASE("tiles are read from what an attention explains") {
  Workload w = workload("dense_n4k_d128");
  w.tokens = 4000;
  json two = explained(w, 77);
  CHECK(tiles_of(two).size() == 1);
  two.at("passes").push_back(two.at("passes").at(0));
  two.at("passes").at(1).at("query_tile") = 64;
  two.at("passes").at(1).at("sources").push_back(two.at("passes").at(0).at("sources").at(0));
  CHECK(tiles_of(two).size() == 3);
  CHECK(tiles_of(two)[1].query_tiles == 4 * 16 * 63);
  CHECK(tiles_of(two)[2].query_tiles == 0);  // of the same rows
  const TileWork tiles = tiles_of(two)[0];
  CHECK(tiles.visited == 77);
  CHECK(tiles.query_tiles == 4 * 16 * 32);
  CHECK(tiles.query_tile == 128);
  CHECK(tiles.key_tile == 128);
}

TEST_CASE("a row as JSON") {
  Row window = row(workload("window1k"), 0.5, 36000);
  window.bound_ms = 0.45;
  const json result = to_json(kInfo, {window});
  CHECK(result.at("device") == "NVIDIA H200");
  CHECK(result.at("date") == "2026-11-30");
  CHECK(result.at("commit") == "abc1234");
  CHECK(result.at("suite") == "standard");
  const json& r = result.at("rows").at(0);
  CHECK(r.at("workload") == "window1k_n32k_d128");
  CHECK(r.at("mask") == "window");
  CHECK(r.at("tessera_ms") == 0.5);
  CHECK(r.at("tile_bound_ms") == 0.45);
  CHECK(r.at("tile_bound_share").get<double>() == doctest::Approx(0.9));
  CHECK(r.at("predicted_ms") == 0.4);
  CHECK(r.at("measured_over_predicted").get<double>() == doctest::Approx(1.25));
  CHECK(r.at("sustained_ms").get<double>() == doctest::Approx(0.55));
  CHECK(r.at("first_call_ms").get<double>() == doctest::Approx(500.123));
  CHECK(r.at("host_us").get<double>() == doctest::Approx(4.13));
  CHECK(r.at("tile") == json::array({128, 128}));
  CHECK(r.at("query_tiles") == 16 * 256);
  CHECK(r.at("registers") == 168);
  // 2 products, 2 operations each, of the pairs that are live.
  const double pairs = 16 * (1025.0 * 32768 - 1024.0 * 1025 / 2);
  CHECK(r.at("tflops").get<double>() == doctest::Approx(4 * 128 * pairs / 0.5e-3 / 1e12));
}

TEST_CASE("what could not be measured has null for its figures, and the reason") {
  const Row failed{workload("window1k"), std::nullopt, "error: no memory", std::nullopt};
  const json r = to_json(kInfo, {failed}).at("rows").at(0);
  for (const char* name : {"tessera_ms", "tflops", "tile_bound_ms", "tile_bound_share"}) CHECK(r.at(name).is_null());
  CHECK(r.at("error") == "error: no memory");
  CHECK(to_text(kInfo, {failed}).find("window1k_n32k_d128            0.0308  error: no memory\n") != std::string::npos);
}

TEST_CASE("a row as text") {
  Row window = row(workload("window1k"), 0.5, 36000);
  CHECK(to_text(kInfo, {window}) ==
        "NVIDIA H200, 2026-11-30, abc1234\n"
        "workload                     density        ms  TFLOP/s  of bound  of predicted  sustained  host us\n"
        "window1k_n32k_d128            0.0308    0.5000    541.7         -         1.250     0.5500      4.1\n");
  window.bound_ms = 0.45;
  CHECK(to_text(kInfo, {window}).find("    541.7     0.900         1.250     0.5500") != std::string::npos);
}

TEST_CASE("lists for peers and for people") {
  const std::vector<Workload> two = only(suite("standard"), {"gqa", "d192x128"});
  CHECK(list_json(two).size() == two.size());
  CHECK(list_json(two).at(0).at("value_dim") == 128);
  CHECK(list_text(two).find("causal_gqa_n16k_d128        1 x 32 over 8 x 16384, d128, density 0.5000\n") !=
        std::string::npos);
  CHECK(list_text(two).find("d192 x 128, density 1.0000\n") != std::string::npos);
}

TEST_CASE("medians") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({5}) == 5);
  CHECK(median({}) == 0);
}

TEST_CASE("tuning takes the fastest of those that it measured twice, and keeps the default where the gain is noise") {
  const auto first = [](double ms, const char* refusal = "") { return Trial{{}, ms, refusal, false}; };
  const auto again = [](double ms) { return Trial{{}, ms, "", true}; };
  CHECK(winner_of({again(1), again(0.8), again(0.7), first(0, "too many registers"), first(0.6)}) == 2);
  CHECK(winner_of({again(1), again(0.995)}) == 0);
  CHECK(winner_of({again(1), again(1.2)}) == 0);
}
