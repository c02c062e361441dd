// Spares warpgroups the work on rows that are not there: of the last tile of a length that is no multiple of it.
//
//   before  programs (%use = 0) {           after  programs (%use = 0) {
//             wait %k_full, %use                     %live = lt (add %first, %mine), (length Query)
//             %s = mma Depth ...                     %1 = when (logical_not %live) (%use) { wait; arrive; ... }
//             arrive %k_empty, %use                  %2 = when %live (%1) { wait; %s = mma; arrive; ...; store }
//             ...; store o, ...                      yield %2
//             yield %next                          }
//           }
//
// A warpgroup without rows takes part in everything that others wait for, barriers and turns, and in nothing else: the
// tensor cores and the exponentials are the others' then. 4096 tokens are 21 tiles of 192 rows and one of 64.
//
// Rows begin where the program's stores do, which need not be where its number says: lists are taken longest first. For
// roles of three warpgroups, whose tiles are seldom whole and whose registers suffice: two of 240 registers a thread
// have none for a second way through a program, and head_dim 256 would spill. Tiles of a token order are left alone:
// their absent rows are not the last ones. Runs last, when a program has all its barriers.
#pragma once

#include <tessera/backend/layouts.h>
#include <tessera/dsl/ir/ir.h>

namespace tessera::backend {

ir::Kernel skip_idle_rows(const ir::Kernel& kernel, const LayoutRule& rule);

}  // namespace tessera::backend
