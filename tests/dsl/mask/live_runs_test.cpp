// The runs of keys that a query sees, against the predicate asked at every key.
#include <tessera/dsl/mask/live_runs.h>

#include <doctest/doctest.h>

#include "dsl/mask/at_points.h"
#include "dsl/mask/maps.h"
#include "dsl/mask/predicates.h"

using namespace tessera;
using namespace tessera::testing;

namespace {

using Runs = std::vector<std::pair<std::int64_t, std::int64_t>>;

mask::PlanRequest request(std::int64_t queries, std::int64_t keys) {
  mask::PlanRequest r;
  r.query_length = queries, r.key_length = keys;
  return r;
}

Runs runs_of(mask::LiveRuns& runs, std::int64_t query) {
  Runs found;
  runs.of(query, [&](std::int64_t begin, std::int64_t end) {
    found.emplace_back(begin, end);
    return true;
  });
  return found;
}

Runs by_points(const mask::Pointwise& predicate, const mask::PlanRequest& r, mask::Point point) {
  Runs found;
  const auto allows = at_points(predicate, r.scalars);
  point.query_length = r.query_length, point.key_length = r.key_length;
  for (point.k = 0; point.k < r.key_length; ++point.k) {
    if (!allows(point)) continue;
    if (found.empty() || found.back().second != point.k) found.emplace_back(point.k, point.k);
    ++found.back().second;
  }
  return found;
}

}  // namespace

TEST_CASE("runs are those of the predicate at every key, each as long as it can be") {
  for (const auto& [queries, keys] : {std::pair<std::int64_t, std::int64_t>{70, 130}, {130, 70}, {9, 7}, {3, 1}})
    for (const NamedMask& m : catalogue(queries, keys)) {
      CAPTURE(m.name);
      const mask::PlanRequest r = request(queries, keys);
      mask::LiveRuns runs(m.mask, r, 0, 0);
      for (std::int64_t q = 0; q < queries; ++q) CHECK(runs_of(runs, q) == by_points(m.mask, r, {.q = q, .k = 0}));
    }
}

TEST_CASE("a query's runs are those of the head and batch entry that was asked for") {
  const mask::Pointwise predicate =
      testing::predicate("p", [](Args& a) { return (a.k <= a.q + a.head) & (a.k >= a.batch * 3.0); });
  mask::PlanRequest r = request(40, 50);
  r.heads = 4, r.batch = 5;
  mask::LiveRuns runs(predicate, r, 2, 3);
  CHECK(runs_of(runs, 20) == Runs{{6, 24}});
  CHECK(runs_of(runs, 20) == by_points(predicate, r, {.q = 20, .k = 0, .head = 3, .batch = 2}));
}

TEST_CASE("no run is given after one that was enough, and none where there are no keys") {
  const mask::Pointwise strided = predicate("p", [](Args& a) { return a.k % 4.0 == 1.0; });
  const mask::PlanRequest r = request(1, 100), none = request(1, 0);
  mask::LiveRuns runs(strided, r, 0, 0), nothing(strided, none, 0, 0);
  Runs found;
  runs.of(0, [&](std::int64_t begin, std::int64_t end) {
    found.emplace_back(begin, end);
    return found.size() < 3;
  });
  CHECK(found == Runs{{1, 2}, {5, 6}, {9, 10}});
  CHECK(runs_of(nothing, 0).empty());
  CHECK(runs_of(runs, 0).size() == 25);
}
