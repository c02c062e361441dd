// Which layout the tiles of one kernel get. One rule a kernel, a function of a tile's axes alone, so that two tiles
// with the same axes never need a conversion.
//
// With matrix products: every product has 64 rows a warpgroup along one *row axis* (Query in attention), and the
// accumulator of wgmma fixes who holds what. A tile [row, column] has the accumulator's layout for its column extent;
// a tile without the row axis, or of the row axis alone, has that layout sliced. The left operand of the next product
// has, for 16-bit types, the same layout again: probabilities never move.
//
// Without: the tile with the most axes is spread over the four warps, columns (the axis contiguous in memory) across
// lanes in vectors of up to 4, rows across warps; the others are slices of it.
#pragma once

#include <memory>

#include <tessera/dsl/ir/ir.h>
#include <tessera/dsl/ir/layout.h>

namespace tessera::backend {

// Accumulator of a wgmma with `rows` (a multiple of 64) x `columns` (a multiple of 8); warpgroups take 64 rows each.
ir::Layout accumulator_layout(ir::Dim row, ir::Dim column);

// [row, column] over `warps` warps. Any extents: what does not divide goes to registers, what is too small replicates.
ir::Layout blocked_layout(ir::Dim row, ir::Dim column, int warps);

class LayoutRule {
 public:
  // Looks at the kernel's dots, parameters and tiles. UserError when dots share no row axis, when the row extent is not
  // a multiple of 64, or when a tile has axes the rule has no place for.
  explicit LayoutRule(const ir::Kernel& tiled);

  bool has_products() const { return has_products_; }
  ir::Dim row() const { return row_; }                 // no axis when there are no products
  void set_rows(int extent) { row_.extent = extent; }  // of one warpgroup, once roles are split

  // `type` with its layout, if it is a tile that lives in registers; scalars, views and barriers are returned as is.
  ir::Type place(const ir::Type& type, SourceLoc loc = {}) const;

 private:
  ir::Layout layout_of(const std::vector<ir::Dim>& dims, SourceLoc loc) const;

  bool has_products_ = false;
  ir::Dim row_{}, column_{};  // without products: the axes of the widest tile
};

}  // namespace tessera::backend
