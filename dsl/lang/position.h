// Where things are: token indices in masks, scores and kernels; the tile that a loop is at.
//
//   in masks and scores   Position q, Position k        scalars: one query, one key
//                         At at                         at.head, at.batch, at.query_length, at.key_length
//   in kernels            positions<Query>()            Tile<i32, Query>: token indices of the program's tile
//                         positions(t)                  Tile<i32, Key>: token indices of the loop's tile t
//                         index<Head>(), length<Key>()  Tile<i32>: the program's own head; how many keys there are
//
// positions<Query>() - positions(t) does not compile: neither side has the other's axes. Distances of a query and a key
// are what masks and scores are for: a predicate is known to the geometry, an i32 tile is not.
#pragma once

#include <tessera/dsl/lang/tile.h>

namespace tessera {

// A token index, or anything computed from one.
using Position = Tile<i32>;

// What a mask or score may read beside its query and key. Lengths are those of the call.
struct At {
  Position head, batch, query_length, key_length;
};

namespace detail {

// i1[Query, Key]: where the loop's mask holds, and both tokens exist.
struct Allowed : NoBranch<Allowed> {
  using axes = Axes<Query, Key>;
  static constexpr DType dtype = i1;
  using bound_value = void;
  Handle tile;
  int function;

  Allowed(Handle t, int f) : tile(t), function(f) {}
  Handle lower(SourceLoc loc) const { return allowed(function, axis<Key>(), axis<Query>(), tile, loc); }
};

template <class A>
struct TileIndexBase {
  TileIndexBase(Handle, int) {}
};
template <>
struct TileIndexBase<Key> {
  Allowed allowed;
  TileIndexBase(Handle tile, int function) : allowed(tile, function) {}

  // The mask only says which tiles are visited: the body means every key of theirs, and reads `allowed` nowhere.
  void ignore_mask(SourceLoc loc = SourceLoc::here()) const {
    detail::ignore_mask(allowed.function, axis<Key>(), allowed.tile, loc);
  }
};

}  // namespace detail

// The tile of axis A that a loop is at. Of Key it also has `.allowed`: what the mask of over<Key>(mask, ...) says,
// and `.ignore_mask()`.
template <AxisType A>
class TileIndex : public detail::TileIndexBase<A> {
 public:
  TileIndex(detail::Handle tile, int function) : detail::TileIndexBase<A>(tile, function), tile_(tile) {}
  detail::Handle handle() const { return tile_; }

 private:
  detail::Handle tile_;
};
using KeyTile = TileIndex<Key>;
using QueryTile = TileIndex<Query>;

template <AxisType A>
Tile<i32, A> positions(SourceLoc loc = SourceLoc::here()) {
  return Tile<i32, A>::of(detail::grid_positions(detail::axis<A>(), loc));
}
template <AxisType A>
Tile<i32, A> positions(const TileIndex<A>& tile, SourceLoc loc = SourceLoc::here()) {
  return Tile<i32, A>::of(detail::tile_positions(detail::axis<A>(), tile.handle(), loc));
}

// The program's index along a grid axis that no tensor lists: index<Head>(), index<Batch>().
template <AxisType A>
Tile<i32> index(SourceLoc loc = SourceLoc::here()) {
  return Tile<i32>::of(detail::index(detail::axis<A>(), loc));
}
// Elements along an axis, at the call.
template <AxisType A>
Tile<i32> length(SourceLoc loc = SourceLoc::here()) {
  return Tile<i32>::of(detail::length(detail::axis<A>(), loc));
}

}  // namespace tessera
