#include <tessera/dsl/mask/live_runs.h>

namespace tessera::mask {

namespace {

constexpr Int kPoints = 8;  // so few keys are tested one by one

}  // namespace

LiveRuns::LiveRuns(const Pointwise& predicate, const PlanRequest& request, std::int64_t batch, std::int64_t head)
    : request_(request),
      batch_(batch),
      head_(head),
      expressions_(predicate, request.scalars),
      root_(expressions_.body(bound_positions(request, batch, head), true)),
      analysis_(expressions_, root_, {request.query_length, request.key_length}),
      program_(expressions_, root_) {}

void LiveRuns::of(Int query, const Take& take) {
  open_begin_ = open_end_ = 0;
  if (request_.key_length > 0 && visit(query, 0, request_.key_length, take)) close(take);
}

// False once `take` has had enough.
bool LiveRuns::visit(Int query, Int begin, Int end, const Take& take) {
  if (end - begin <= kPoints) {
    for (Int k = begin; k < end; ++k)
      if (program_.test({query, k, head_, batch_, request_.query_length, request_.key_length, 0, 0, 0}) &&
          !extend(k, k + 1, take))
        return false;
    return true;
  }
  Box box;
  box.lo = {query, begin};
  box.hi = {query, end - 1};
  const Verdict verdict = analysis_.classify(box);
  if (verdict == Verdict::empty) return true;
  if (verdict == Verdict::full) return extend(begin, end, take);
  const Int middle = begin + (end - begin) / 2;
  return visit(query, begin, middle, take) && visit(query, middle, end, take);
}

bool LiveRuns::extend(Int begin, Int end, const Take& take) {
  if (begin != open_end_) {
    if (!close(take)) return false;
    open_begin_ = begin;
  }
  open_end_ = end;
  return true;
}

}  // namespace tessera::mask
