// Plans in token orders, made without the planner: tile lists by looking at every pair of tokens, and spans of box
// windows written down by hand. What orders do in kernels is tested with these.
#pragma once

#include <functional>
#include <vector>

#include <tessera/dsl/mask/plan.h>

namespace tessera::testing {

using AllowedPair = std::function<bool(std::int64_t q, std::int64_t k)>;

struct Lengths {
  std::int64_t queries, keys;
};

// Every tile with a live pair; full where all its pairs are live and it lacks no token. One class.
mask::Source listed(const mask::Order& queries, const mask::Order& keys, Lengths lengths, const AllowedPair& allowed);

// The same for several classes; `class_of` is that of a TileList.
mask::Source listed(const mask::Order& queries, const mask::Order& keys, Lengths lengths,
                    const std::vector<AllowedPair>& classes, std::vector<std::int32_t> class_of);

// Spans of |c_q - c_k| <= reach in every digit c of two orders with the same weights, whatever their tiles.
mask::Source box_window(const mask::Order& queries, const mask::Order& keys, const std::vector<int>& reach);

// For programs that bound their keys: any tile may reach past a sequence's end.
void make_partial(mask::Plan& plan);

mask::Plan plan_of(const mask::Order& queries, std::vector<mask::Source> sources);

}  // namespace tessera::testing
