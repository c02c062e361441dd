// From a predicate to a Plan.
//
// Tries the closed form first: the predicate is put into a few conjunctions of interval constraints that are linear in
// q and k (through floor division and min/max where those invert), and the key range of a query tile is written down as
// arithmetic on the tile's first and last row. Where that fails, for a reason that the plan records, the tile map is
// built for the given lengths by three-valued box analysis, descending from the root: never an N x N evaluation.
#pragma once

#include <tessera/dsl/mask/expression.h>
#include <tessera/dsl/mask/plan.h>
#include <tessera/dsl/mask/pointwise.h>

namespace tessera::mask {

struct PlanRequest {
  std::int64_t query_length = 0, key_length = 0, heads = 1, batch = 1;
  int query_tile = 128, key_tile = 128;
  std::vector<NamedScalar> scalars;
  std::vector<std::int64_t> key_lengths;  // per batch, when the program bounds its keys; empty: key_length
  bool allow_spans = true;                // false: always a list (tests compare the two)
};

// What a predicate is bound to for a head of a batch entry: all but the positions of query and key.
PositionValues bound_positions(const PlanRequest& request, std::int64_t batch, std::int64_t head);
// Where the keys of a batch entry end.
std::int64_t key_bound(const PlanRequest& request, std::int64_t batch);

// UserErrors: lengths or key lengths out of range, a table shorter than the axis it is indexed by, with both numbers.
void check_request(const Pointwise& predicate, const PlanRequest& request);

// UserErrors as check_request.
Plan make_plan(const Pointwise& predicate, const PlanRequest& request);

// Whether the spans of this predicate hold for the request's lengths and scalars: no intermediate value leaves i32. A
// kernel of spans may be launched for other lengths and scalars than those of its plan only where this is so.
bool spans_hold(const Pointwise& predicate, const PlanRequest& request);

// A size of scalars up to which spans_hold need not be asked again: they hold at the request's lengths for every call
// whose scalars are each from -size to size, or the request's own. Negative: there is none.
double scalar_room(const Pointwise& predicate, const PlanRequest& request);

// The lengths and tables only change the counts and the list of a plan; its kernel is the same when the spans are. This
// decides whether `plan` (made for other lengths) can be launched for `request`, recomputing counts.
Plan replan(const Plan& plan, const Pointwise& predicate, const PlanRequest& request);

}  // namespace tessera::mask
