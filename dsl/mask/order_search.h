// The search for token orders: for a query order, the key order in which each part of a predicate takes the least time,
// and query orders that are good for some part.
//
// Digit systems in which a part is separable come first: counts there are products, so that all their boxes are tried.
// Others are tried on a few query tiles, as long as a budget of looked-at rows lasts; the answer is valid whenever it
// does not. The same request gives the same answer on every run.
#pragma once

#include <tessera/dsl/mask/candidates.h>
#include <tessera/dsl/mask/costs.h>
#include <tessera/dsl/mask/planner.h>
#include <tessera/dsl/mask/tile_counts.h>

namespace tessera::mask {

// What plans may use beside one pass over tiles that lie on a grid.
struct PlanSpace {
  bool chained = true;   // a second pass, with another query order
  bool anchored = true;  // key tiles from the first key on that a query tile sees
};

// Seconds are those of one multiprocessor, for one head of one batch entry.
struct QueryChoice {
  Order order;
  int rows = 128;  // of the tile that the hardware computes: the box has as many, or somewhat fewer
  double seconds = 0;
};
struct KeyChoice {
  Order order;
  Anchor anchor = Anchor::grid;
  double seconds = 0;  // of the tiles alone
};

class OrderSearch {
 public:
  // Parts: of the predicate; candidates are read off it whole. Head and batch entry 0 of the request stand for all.
  OrderSearch(const Pointwise& predicate, const std::vector<Pointwise>& parts, const PlanRequest& request,
              const TargetCosts& costs, const PlanSpace& space = {});

  // The best query orders for a part, at most `most`.
  std::vector<QueryChoice> query_orders(std::size_t part, std::size_t most);
  KeyChoice key_order(std::size_t part, const QueryChoice& queries);

  // Time of the tiles of a tally, and of what its query tiles cost beside them.
  double seconds(const Tally& tally, int rows, const Order& keys) const;
  double starts(const QueryChoice& queries) const;

  Int query_length() const { return request_.query_length; }
  Int key_length() const { return request_.key_length; }

 private:
  struct Part {
    Pointwise predicate;
    std::unique_ptr<Expressions> expressions;
    Expressions::Id root;
    bool reads_tables;
    bool plain = false;  // separable in some digits: orders in which it is not are tried only where they are simple
    std::map<std::pair<std::vector<Int>, std::vector<Int>>, std::unique_ptr<TileCounter>> counters;
  };

  TileCounter& counter(Part& part, const std::vector<Int>& queries, const std::vector<Int>& keys);
  bool separable_with_some(Part& part, const std::vector<Int>& queries);
  void try_keys(Part& part, TileCounter& counter, const QueryChoice& queries, const std::vector<Int>& system,
                KeyChoice& best);
  double quick_seconds(Part& part, const QueryChoice& queries);

  const PlanRequest& request_;
  const TargetCosts& costs_;
  PlanSpace space_;
  std::vector<Part> parts_;
  OrderCandidates query_candidates_, key_candidates_;
  Int looked_at_ = 0;  // rows
};

// Whether the predicate's constants suggest an order but the identity.
bool suggests_orders(const Pointwise& predicate, const PlanRequest& request);

std::vector<Int> weights_of(const Order& order);

}  // namespace tessera::mask
