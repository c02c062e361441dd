// Makes plans in place of the planner: how tests, and measurements of plans that it would not choose, put a plan into
// an Attention or a Program. What it makes for a set of shapes, scalars and key lengths serves these alone.
#pragma once

#include <functional>

#include <tessera/dsl/mask/planner.h>

namespace tessera::library {

struct PlanMaker {
  std::function<mask::Plan(const mask::Pointwise& predicate, const mask::PlanRequest& request)> make;
};

}  // namespace tessera::library
