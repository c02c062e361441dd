// The keys that one query sees, as runs of neighbours.
//
// Found by halving the keys: boxes that the geometry knows are one step, and only where it does not know are keys
// tested one by one. A row of a window then costs what its edges do, however many keys there are.
#pragma once

#include <functional>

#include <tessera/dsl/mask/box_analysis.h>
#include <tessera/dsl/mask/expression.h>
#include <tessera/dsl/mask/planner.h>

namespace tessera::mask {

class LiveRuns {
 public:
  // Of a head of a batch entry of the request; predicate and request must outlive this.
  LiveRuns(const Pointwise& predicate, const PlanRequest& request, std::int64_t batch, std::int64_t head);

  // Gives `take` the runs begin to end - 1, ascending and with dead keys between them, until it answers false.
  using Take = std::function<bool(Int begin, Int end)>;
  void of(Int query, const Take& take);

 private:
  bool visit(Int query, Int begin, Int end, const Take& take);
  bool extend(Int begin, Int end, const Take& take);
  bool close(const Take& take) { return open_begin_ == open_end_ || take(open_begin_, open_end_); }

  const PlanRequest& request_;
  std::int64_t batch_, head_;
  Expressions expressions_;
  Expressions::Id root_;
  BoxAnalysis analysis_;
  PointProgram program_;
  Int open_begin_ = 0, open_end_ = 0;  // the run that the next keys may still be part of
};

}  // namespace tessera::mask
