// The parts of tile_by_mask: which extent every axis gets, the loops over the tiles a plan visits, and the guards of
// edges.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include <tessera/dsl/ir/rewrite.h>
#include <tessera/dsl/passes/tile_by_mask.h>

namespace tessera::passes::detail {

// Extents of all axes of a kernel.
class Extents {
 public:
  // `pass` is null for kernels without masks. Its sources have key tiles of one size: a loop has one body.
  Extents(const ir::Kernel& traced, const mask::Pass* pass, const Tiling& tiling);

  int tile(ir::Axis axis) const;  // UserError when the axis has none
  bool is_grid(ir::Axis axis) const;
  ir::Type bind(ir::Type type) const;  // with extents
  std::vector<ir::Dim> grid_tiles() const;
  const std::vector<ir::Dim>& whole_axes() const { return whole_; }

 private:
  const ir::Kernel& kernel_;
  std::vector<ir::Dim> tiles_, whole_;
};

// The axis whose tiles a plan's query tiles are. UserError when the grid has none.
ir::Axis mask_queries(const ir::Kernel& traced, SourceLoc loc);

// Gives a temporary a name to be printed with.
ir::Value named(ir::Builder& b, ir::Value v, const char* name);

// One loop made from an `over`: its tiles start at `start`; unless `inside`, one may reach past `bound`.
struct TileLoop {
  ir::Value index;  // the loop's region argument, by which it is found
  ir::Axis axis;
  ir::Value start, bound;
  bool inside = false;
};

// The row of a list that a program works on.
struct ListRow {
  int params = -1;  // the first of the list's kListTables
  ir::Value row{};

  ir::Value field(int column, ir::Builder& into) const;  // as mask::TileList has them
};

// Which tile of a grid axis a program computes: that of its own number, but of the queries where a list says which
// query tile has its place.
class ProgramTiles {
 public:
  ProgramTiles() = default;
  ProgramTiles(const ir::Kernel& traced, const mask::TileList& list, int params, int query_tile);

  ir::Value tile(ir::Axis grid_axis, ir::Builder& b) const;
  ListRow row(ir::Builder& b) const;  // the program's, of this list

 private:
  const mask::TileList* list_ = nullptr;
  int params_ = -1, query_tile_ = 0;
  ir::Axis query_{}, head_{}, batch_{};
};

// What the edge guards have to know of a kernel that was just tiled.
struct Tiled {
  ir::Kernel kernel;
  ProgramTiles programs;
  std::vector<TileLoop> loops;
  // Values that are false on the positions past the end of an axis: the bounds' share of `allowed`.
  std::unordered_map<std::uint32_t, ir::Axis> within;
};

// Key tiles as the plan has them. Half-open runs of consecutive tiles, and tiles by a table.
struct Run {
  ir::Value from, to;
};
struct Schedule {
  std::vector<Run> partial{}, full{};  // runs; or, for a list:
  int ids = -1;                        // parameter of the tile ids
  ir::Value first_partial{}, partials{}, first_full{}, fulls{};
};

// Emits the scalar arithmetic that finds the tiles of this program's query tile.
struct ScheduleRequest {
  ir::Axis query, key;
  int query_tile, key_tile;
  int function_params;  // first kernel parameter of the mask's own
  ListRow row;          // of the source's list
  ir::Value first;      // the first query of the program's tile
  ir::Value bound;      // number of keys
  bool has_bound;       // the program gave it
  ir::Value head, batch;
};
Schedule schedule(const mask::Source& source, const ScheduleRequest& request, ir::Builder& into);
Schedule schedule_all(int tile, ir::Value bound, bool one_loop, ir::Builder& into);

// Puts identities where a reduction or product would read past the end of an axis. `guarded`: axes of loops that needed
// it.
ir::Kernel guard_edges(const Tiled& tiled, std::vector<ir::Axis>* guarded);

}  // namespace tessera::passes::detail
