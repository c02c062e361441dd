// Global memory as a kernel sees it: tiles of tensors, and side tables.
#pragma once

#include <span>

#include <tessera/dsl/ir/arguments.h>
#include <tessera/dsl/ir/interpret_value.h>

namespace tessera::ir::interp {

// A tile of a token order: where its digits start, and the row of it that comes first.
struct OrderedTile {
  const AxisOrder* cut = nullptr;
  std::vector<int> firsts{};
  int row = 0;
};

// A place in a tensor. `outer` are the coordinates along the leading dims of the view, `starts` the tile's first token
// along each axis the parameter lists, in its order; `ordered`, where it is not empty, has for each of them the tile
// of a token order instead. Positions at or past `bound` along `bounded` do not exist.
struct Place {
  const View* view;
  const std::vector<Axis>* axes;
  std::vector<std::int64_t> outer;
  std::vector<std::int64_t> starts;
  Axis bounded{};
  std::int64_t bound = 0;
  std::vector<OrderedTile> ordered{};
};

Tile load(const Place& place, const std::vector<Dim>& dims);  // what lies outside is 0
void store(const Place& place, const Tile& tile);             // what lies outside is left alone

// Elementwise read of a table at `indices`, one a dimension, each clamped into range; 0 from a table without elements.
Tile gather(const View& table, std::span<const Tile* const> indices);

}  // namespace tessera::ir::interp
