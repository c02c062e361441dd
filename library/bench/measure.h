// A suite, measured on one device.
#pragma once

#include <optional>

#include <tessera/library/bench/launch_timer.h>
#include <tessera/library/bench/tile_bound.h>
#include <tessera/library/bench/workload.h>

namespace tessera::bench {

struct Measured {
  LaunchTimes single;
  double sustained_ms = 0;
  double first_call_ms = 0;  // of the host: tracing, planning, compiling or fetching from disk, loading
  std::vector<TileWork> tiles;
  nlohmann::ordered_json explained;  // Attention::explain_json
};

struct Row {
  Workload workload;
  std::optional<Measured> measured;
  std::string failure;             // why it is not measured
  std::optional<double> bound_ms;  // tile_bound_ms; none where nothing dense of the same dims was measured
};

Measured measure(const runtime::Device& device, const Workload& workload, int launches);

// What is refused or does not fit becomes a row with the reason. The dense workload that a row is held against is
// measured too where `workloads` lacks it, from `everything`.
std::vector<Row> measure_all(const runtime::Device& device, const std::vector<Workload>& workloads,
                             const std::vector<Workload>& everything, int launches);

// Of each source of each pass, from explain_json and the shapes; a pass's query tiles are its first source's.
std::vector<TileWork> tiles_of(const nlohmann::ordered_json& explained);

}  // namespace tessera::bench
