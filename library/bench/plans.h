// How long the plans of workloads take to make, what they hold in memory, and what time their kernels are predicted to
// take. Nothing is compiled, and no device is needed.
#pragma once

#include <string>
#include <vector>

#include <tessera/dsl/mask/plan.h>
#include <tessera/library/bench/workload.h>

namespace tessera::bench {

struct PlanRow {
  Workload workload;
  double plan_ms = 0;           // of the host, from the traced program to the tiled kernel's parameters
  std::int64_t list_bytes = 0;  // of tables of tiles; 0 where the kernel computes which tiles it visits
  mask::Plan plan{};            // orders and counts
  double predicted_ms = 0;
};

// In the tiles that an Attention with no tile named would take, for an H200.
PlanRow plan_of(const Workload& workload);

std::string plans_text(const std::vector<PlanRow>& rows);
nlohmann::ordered_json plans_json(const std::vector<PlanRow>& rows);

}  // namespace tessera::bench
