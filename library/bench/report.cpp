#include <tessera/library/bench/report.h>

#include <array>
#include <cmath>
#include <ctime>

#include <fmt/format.h>

namespace tessera::bench {

namespace {

using json = nlohmann::ordered_json;

double rounded(double value, double unit) { return std::round(value / unit) * unit; }

double tflops(const Row& row) { return row.workload.flops() / row.measured->single.median_ms / 1e9; }
double predicted(const Measured& m) { return m.explained.at("predicted_ms"); }
double share(const Row& row) { return *row.bound_ms / row.measured->single.median_ms; }

json row_json(const Row& row) {
  json result = description(row.workload);
  result["mask"] = row.workload.mask.kind;
  for (const char* name : {"tessera_ms", "tflops", "tile_bound_ms", "tile_bound_share"}) result[name] = nullptr;
  if (!row.measured) {
    result["error"] = row.failure;
    return result;
  }
  const Measured& m = *row.measured;
  result["tessera_ms"] = m.single.median_ms;
  result["tflops"] = tflops(row);
  if (row.bound_ms) {
    result["tile_bound_ms"] = *row.bound_ms;
    result["tile_bound_share"] = share(row);
  }
  result["best_ms"] = m.single.best_ms;
  result["sustained_ms"] = m.sustained_ms;
  result["predicted_ms"] = m.explained.at("predicted_ms");
  result["measured_over_predicted"] = m.single.median_ms / predicted(m);
  result["launches"] = m.single.launches;
  result["host_us"] = rounded(m.single.host_us, 0.01);
  result["first_call_ms"] = rounded(m.first_call_ms, 0.001);
  std::int64_t query_tiles = 0;
  for (const TileWork& work : m.tiles) query_tiles += work.query_tiles;
  result["query_tiles"] = query_tiles;
  result["tile"] = {m.tiles.at(0).query_tile, m.tiles.at(0).key_tile};
  for (const char* name : {"tiles", "schedule", "registers", "spill_bytes", "shared_bytes", "compile_ms", "notes"})
    result[name] = m.explained.at(name);
  return result;
}

std::string row_text(const Row& row) {
  const std::string start = fmt::format("{:<28}{:>8.4f}", row.workload.name, row.workload.density());
  if (!row.measured) return fmt::format("{}  {}\n", start, row.failure);
  return fmt::format("{}{:>10.4f}{:>9.1f}{:>10}{:>14.3f}{:>11.4f}{:>9.1f}\n", start, row.measured->single.median_ms,
                     tflops(row), row.bound_ms ? fmt::format("{:.3f}", share(row)) : "-",
                     row.measured->single.median_ms / predicted(*row.measured), row.measured->sustained_ms,
                     row.measured->single.host_us);
}

}  // namespace

json to_json(const RunInfo& info, const std::vector<Row>& rows) {
  json result = {{"device", info.device}, {"date", info.date}, {"commit", info.commit}, {"suite", info.suite}};
  result["rows"] = json::array();
  for (const Row& row : rows) result["rows"].push_back(row_json(row));
  return result;
}

std::string to_text(const RunInfo& info, const std::vector<Row>& rows) {
  std::string text = fmt::format("{}, {}{}\n", info.device, info.date, info.commit.empty() ? "" : ", " + info.commit);
  text += fmt::format("{:<28}{:>8}{:>10}{:>9}{:>10}{:>14}{:>11}{:>9}\n", "workload", "density", "ms", "TFLOP/s",
                      "of bound", "of predicted", "sustained", "host us");
  for (const Row& row : rows) text += row_text(row);
  return text;
}

json list_json(const std::vector<Workload>& workloads) {
  json all = json::array();
  for (const Workload& workload : workloads) all.push_back(description(workload));
  return all;
}

std::string list_text(const std::vector<Workload>& workloads) {
  std::string text;
  for (const Workload& w : workloads) {
    text += fmt::format("{:<28}{} x {} over {} x {}, d{}", w.name, w.batch, w.heads, w.kv_heads, w.tokens, w.head_dim);
    text += w.value_dim == w.head_dim ? "" : fmt::format(" x {}", w.value_dim);
    text += w.order == MemoryOrder::heads_first ? "" : fmt::format(", {}", name_of(w.order));
    text += fmt::format(", density {:.4f}\n", w.density());
  }
  return text;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  std::array<char, 16> text;
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &local)};
}

}  // namespace tessera::bench
