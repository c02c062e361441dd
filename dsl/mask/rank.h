// Plans in token orders, ranked by predicted time: which passes, which query and key orders, which part of the
// predicate each key source takes.
//
// A predicate is split into the alternatives it is a union of. All alternatives take one query order, or two in two
// passes that are chained through O and LSE; those of one pass with the same key order are one source, and every source
// leaves out what those before it cover. Schedules are not made: lists.h does it for a plan that is chosen.
#pragma once

#include <string>
#include <vector>

#include <tessera/dsl/mask/order_search.h>
#include <tessera/dsl/mask/tile_counts.h>

namespace tessera::mask {

struct RankedSource {
  Tally tally;
  double area = 0;  // pairs of rows and keys that are computed, a head
};
struct RankedPass {
  int rows = 128;  // that a query tile computes
  double seconds = 0;
  double balance = 1;  // time of the pass to that of evenly spread work
  double padding = 1;  // rows computed to queries
  std::vector<RankedSource> sources;
};
struct RankedPlan {
  Plan plan;  // orders, parts, anchors and counts; its schedules are empty lists
  std::vector<RankedPass> passes;
  double seconds = 0;
  double waste = 0;  // pairs computed to live pairs
  // How many times fewer pairs than dense attention in the same tiles: those that are live, those computed, and those
  // computed by the rows that compute most.
  double live_bound = 0, tile_bound = 0, worst_bound = 0;
  bool exact = true;  // all query tiles were counted

  double tiles_a_query_tile() const;
  double full_share() const;
};

// The best few, fastest first; the identity order is always among them. Its free head and batch are those of entry 0,
// which stand for all.
std::vector<RankedPlan> rank_plans(const Pointwise& predicate, const PlanRequest& request, const TargetCosts& costs,
                                   const PlanSpace& space = {});

// Plans of one pass and one source, each in another query box with the best key box for it: `most` of them, fastest
// first.
std::vector<RankedPlan> candidate_plans(const Pointwise& predicate, const PlanRequest& request,
                                        const TargetCosts& costs, std::size_t most);

// One plan of a single pass and source in given orders.
RankedPlan rate_plan(const Pointwise& predicate, const PlanRequest& request, const TargetCosts& costs,
                     const Order& queries, int rows, const Order& keys, Anchor anchor = Anchor::grid);

// Live pairs of a head; sampled where counting needs to look at rows.
double live_pairs(const Pointwise& predicate, const PlanRequest& request);

std::string to_string(const RankedPlan& plan);  // "Q[1:128]/128 K[1:128] >> Q[128:64, 1:1]/64 K[128:64, 1:1]@"

}  // namespace tessera::mask
