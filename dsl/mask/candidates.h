// Token orders in which a predicate may be dense: read off the constants that divide, reduce or compare its positions.
//
// q / c and q % c make c a digit weight where the result is compared or indexes a table: then the order's digits are
// what the predicate speaks of. x / c * c only rounds, and (x + a) / c divides a digit that is there already: these
// suggest sizes and origins of boxes.
#pragma once

#include <map>
#include <set>
#include <vector>

#include <tessera/dsl/mask/expression.h>
#include <tessera/dsl/mask/token_order.h>

namespace tessera::mask {

struct OrderCandidates {
  std::vector<std::vector<Int>> systems;  // weights, outermost first; the identity first
  std::set<Int> sizes;                    // of boxes
  std::map<Int, Int> origins;             // of boxes of this size
};

// For one side. The predicate's free positions are q and k; there are at most 26 systems.
OrderCandidates order_candidates(const Expressions& e, Expressions::Id root, int side, Int query_length,
                                 Int key_length);

// Boxes of digits of these weights with `least` to `most` rows, at most 90; of one digit: runs of `most`.
std::vector<Order> boxes(const std::vector<Int>& weights, Int tokens, Int least, Int most,
                         const OrderCandidates& candidates);

// The alternatives that a predicate is a union of, with products of sums written out; itself where there would be more
// than six.
std::vector<Pointwise> alternatives(const Pointwise& predicate);

}  // namespace tessera::mask
