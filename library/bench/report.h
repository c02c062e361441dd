// What was measured, for programs and for people.
//
// {"device": "NVIDIA H200", "date": "2026-11-30", "commit": "abc1234", "suite": "standard",
//  "rows": [{"workload": "window1k_n32k_d128", "batch": 1, ..., "density": 0.031, "tessera_ms": 0.5, "tflops": 430,
//            "tile_bound_ms": 0.48, "tile_bound_share": 0.96, "sustained_ms": 0.52, "tiles": {...}, ...}]}
// A workload that was refused has null for its figures and "error".
#pragma once

#include <tessera/library/bench/measure.h>

namespace tessera::bench {

struct RunInfo {
  std::string device, date, commit, suite;
};

nlohmann::ordered_json to_json(const RunInfo& info, const std::vector<Row>& rows);
std::string to_text(const RunInfo& info, const std::vector<Row>& rows);

// The workloads alone, as peers read them.
nlohmann::ordered_json list_json(const std::vector<Workload>& workloads);
std::string list_text(const std::vector<Workload>& workloads);

std::string today();  // "2026-11-30", local

}  // namespace tessera::bench
