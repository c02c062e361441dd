// What attention is measured on: named shapes and masks, in suites.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tessera/library/attention_options.h>
#include <tessera/library/bench/mask_case.h>
#include <tessera/library/bench/tensors.h>

namespace tessera::bench {

// Queries and keys are of one sequence; bf16.
struct Workload {
  std::string name;
  std::int64_t batch, heads, kv_heads, tokens;
  int head_dim, value_dim;
  MaskCase mask;
  MemoryOrder order = MemoryOrder::heads_first;

  double density() const;      // live pairs of all pairs
  double flops() const;        // of both products, over live pairs
  std::int64_t bytes() const;  // of q, k, v and o
  bool dense() const { return mask.kind == "full"; }

  AttentionOptions options() const;
  AttentionShapes shapes() const;
};

// "quick": one of each kind of figure, in seconds; "standard"; "all": with strided views, and neighbourhoods in space,
// which take long; "lengths": patterns at 16k, 128k and a million tokens, for their plans.
const std::vector<std::string>& suite_names();
std::vector<Workload> suite(const std::string& name);

// Those whose name contains one of `parts` (all, if there are none). UserError if nothing is left.
std::vector<Workload> only(std::vector<Workload> workloads, const std::vector<std::string>& parts);

// The dense workload of the same dims with the longest sequence: its time per tile is what others are held against.
// Null if `among` has none.
const Workload* dense_of(const Workload& workload, const std::vector<Workload>& among);

// For peers: everything they need to build the same tensors and the same mask.
nlohmann::ordered_json description(const Workload& workload);

}  // namespace tessera::bench
