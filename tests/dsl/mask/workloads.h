// The measured workloads and the catalogue's rows at the sizes their predicted times are published for.
#pragma once

#include <tessera/dsl/mask/costs.h>

#include "dsl/mask/geometry_catalogue.h"

namespace tessera::testing {

struct Workload {
  const char* name;
  mask::Pointwise mask;
  std::int64_t queries, keys;
  int dim;
  std::int64_t heads;  // of all sequences
};
std::vector<Workload> workloads();

// What was measured on one H200: the costs that published times are made of.
mask::TargetCosts h200_costs(int dim);

}  // namespace tessera::testing
