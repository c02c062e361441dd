// The order in which the programs of a masked kernel are taken: those with many tiles first, so that a launch does not
// end with a few long ones.
//
// Where later query tiles see clearly more keys than earlier ones (causal masks), or the other way round, programs go
// from the long end to the short one, a section of heads at a time: keys and values of a section stay in the L2 cache
// while all its query tiles pass over them. Where the work is even, heads come one after the other. What counts is the
// mask, not the lengths of a call: kernels of all lengths are one.
#pragma once

#include <span>

#include <tessera/dsl/mask/plan.h>

namespace tessera::mask {

// `counts`: of a typical call.
ir::WorkOrder work_order(const Counts& counts);

// Lists bring their own order along the query tiles: rows from number `first` on, those of one class, are sorted by
// their work in all lists of a pass if they differ in it. Programs are taken in the order of the rows, in sections
// while those fit the L2 cache: rows of a list may lead anywhere.
void longest_first(std::span<TileList* const> lists, std::size_t first);
ir::WorkOrder work_order_of_list(std::int64_t key_length);

}  // namespace tessera::mask
