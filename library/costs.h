// What attention costs on a target, as the backend says, in the terms of plans.
#pragma once

#include <tessera/backend/target.h>
#include <tessera/dsl/mask/choose_plan.h>

namespace tessera::library {

// Of tiles of 128 keys and any rows that a target has: what a search may think of.
mask::TargetCosts target_costs(int head_dim, int value_dim, const backend::Target& target);
// Of the tiles that kernels of lists and token orders are made of: the first of backend::tile_candidates at most.
mask::TargetCosts kernel_costs(int head_dim, int value_dim, const backend::Target& target);

// Milliseconds that the plan's launches take on the largest device of the target that was measured (an H200), its tiles
// counted by `request`: work evenly spread, each tile at the rate of its rows, and what partial tiles and query tiles
// cost more.
double predicted_ms(const mask::Plan& plan, const mask::PlanRequest& request, int head_dim, int value_dim,
                    const backend::Target& target);

}  // namespace tessera::library
