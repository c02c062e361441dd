// The patterns of the catalogue as expressions, with the digit systems in which their geometry is plain.
#pragma once

#include "dsl/mask/predicates.h"

namespace tessera::testing {

struct GeometryMask {
  std::string name;
  mask::Pointwise mask;
  std::int64_t queries, keys;
  std::vector<std::vector<std::int64_t>> systems;  // weights, outermost first; the identity is not among them
};

// About `length` tokens each. `odd`: parameters that divide nothing.
std::vector<GeometryMask> geometry_catalogue(std::int64_t length, bool odd);

// One axis of a neighbourhood of `window` keys that a group of `stride` queries shares, shifted inwards at the ends of
// an axis of `extent`; with dilation, of the keys with the query's residue.
struct Neighbourhood {
  std::int64_t extent, window, stride = 1, dilation = 1;
  bool causal = false;
};
Expr neighbourhood(Expr q, Expr k, const Neighbourhood& axis);

// Neighbourhoods along the axes of a grid, outermost first.
mask::Pointwise neighbourhood_grid(const std::vector<Neighbourhood>& axes);

// Ids of `count` documents of random lengths; the same for a seed everywhere.
Table document_table(std::int64_t length, std::int64_t count, std::uint64_t seed);

}  // namespace tessera::testing
