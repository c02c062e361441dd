// How fast could this be? Plans of a mask in token orders, with what they visit and the time that the cost model gives
// them, as text for people and JSON for programs. No kernel is compiled, and no device is needed.
//
// {"shapes": {...}, "live": 0.0665, "live_bound": 15.04,
//  "plans": [{"plan": "Q[128:8, 1:16]/128 K[128:8, 1:16]", "ms": 0.285, "passes": [{"query_order": "[128:8, 1:16]",
//    "rows": 128, "ms": 0.285, "balance": 1.02, "padding": 1.0, "sources": [{"key_order": "[128:8, 1:16]", "anchor":
//    "grid", "part": false, "tiles": {"mean": 15.0, "worst": 25, "full": 0.27}}]}], "tile_bound": 8.54,
//    "worst_bound": 5.12, "waste": 1.76, "exact": true}],
//  "candidates": [...]}
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tessera/backend/target.h>
#include <tessera/dsl/lang/mask.h>
#include <tessera/dsl/mask/rank.h>
#include <tessera/library/attention_options.h>

namespace tessera::library {

struct SimulationRequest {
  AttentionShapes shapes;
  int head_dim = 128, value_dim = 128;
  std::string target = "sm_90a";  // whose costs are taken
  std::size_t candidates = 8;
  // One plan of one pass in these orders, in place of a search.
  std::optional<mask::Order> queries, keys;
};

struct Simulation {
  SimulationRequest request;
  std::vector<mask::RankedPlan> plans;       // the best, and the identity
  std::vector<mask::RankedPlan> candidates;  // one query box each
};

Simulation simulate(const Mask& mask, const SimulationRequest& request);
std::string to_text(const Simulation& simulation);
std::string to_json(const Simulation& simulation);

}  // namespace tessera::library
