// The parts of tile_by_mask: which extent every axis gets, the loops over the tiles a plan visits, and the guards of
// edges.
#pragma once

#include <array>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <tessera/dsl/ir/rewrite.h>
#include <tessera/dsl/passes/tile_by_mask.h>

namespace tessera::passes::detail {

// Extents of all axes of a kernel.
class Extents {
 public:
  // `pass` is null for kernels without masks. Keys start with the tiles of its first source.
  Extents(const ir::Kernel& traced, const mask::Pass* pass, const Tiling& tiling);

  // Rows of the tiles of an axis in this order: what products take, where it is a box of tokens.
  int rows(ir::Axis axis, const ir::Order& order) const;
  void set_tile(ir::Axis axis, int extent);

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

// A tile of an axis: its first token (i32), or its handle where tiles are cut in a token order, number `order` of the
// kernel.
struct Place {
  ir::Value at;
  int order = -1;
  std::vector<ir::Value> firsts{};  // of an order: first value of each digit
};

// What tiles of token orders are reckoned with.
std::vector<ir::Value> tile_digits(const ir::Order& order, ir::Value number, ir::Builder& b);  // of a tile's number
ir::Value tile_count(const ir::Order& order, ir::Value length, ir::Builder& b);
ir::Value first_value(const ir::OrderDigit& digit, ir::Value tile, ir::Builder& b);  // of a tile along the digit
Place program_tile(const ir::Kernel& tiled, ir::Axis grid_axis, ir::Value number, ir::Builder& b);
Place tile_of_order(const ir::Kernel& tiled, int order, std::span<const ir::Value> tile, ir::Builder& b);

ir::Value tokens_of(ir::Dim dim, const Place& place, ir::Builder& b);  // i32[axis]
// i1[axis]: which places are tokens before `end` (no value: the axis's).
ir::Value tokens_within(const ir::Kernel& tiled, ir::Dim dim, const Place& place, ir::Value end, ir::Builder& b);
// i1[axis]: which are no padding; no value where tiles of the order have none.
ir::Value tokens_unpadded(const ir::Kernel& tiled, ir::Dim dim, const Place& place, ir::Builder& b);

// Emits a scalar function of positions at tiles of queries and keys: ir::inline_function, but in terms of digits where
// an axis is cut in a token order.
struct PositionTile {
  ir::Dim dim;
  Place place;
  ir::Value tokens;
};
ir::Value inline_at_tiles(const ir::Kernel& tiled, const ir::Function& function, std::span<const ir::Value> args,
                          int first_param, const std::array<PositionTile, 2>& sides, ir::Builder& into);

// One loop made from an `over`: its tiles lie at `place`; unless `inside`, one may reach past `bound`.
struct TileLoop {
  ir::Value index;  // the loop's region argument, by which it is found
  ir::Axis axis;
  Place place;
  ir::Value bound;
  bool inside = false;
};

// The row of a list that a program works on.
struct ListRow {
  int params = -1;  // the first of the list's kListTables
  ir::Value row{};

  ir::Value field(int column, ir::Builder& into) const;  // as mask::TileList has them
};

// Which tile of a grid axis a program computes: that of its own number, but of the queries where the pass's lists say
// which query tile has its place.
class ProgramTiles {
 public:
  ProgramTiles() = default;
  // `list_params`: by source, the first of its list's tables, -1 without a list.
  ProgramTiles(const ir::Kernel& traced, const mask::Pass& pass, std::span<const int> list_params);

  ir::Value tile(ir::Axis grid_axis, ir::Builder& b) const;
  ListRow row(const mask::TileList& list, int params, ir::Builder& b) const;  // the program's

 private:
  const mask::Pass* pass_ = nullptr;
  const mask::TileList* list_ = nullptr;  // any of the pass's
  int params_ = -1;                       // and its tables
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

// Key tiles as the plan has them. Boxes of tiles, a half-open run for each digit of their order; and tiles by a table.
struct Run {
  std::vector<ir::Value> from, to;
};
struct Schedule {
  std::vector<Run> partial{}, full{};  // runs; or, for a list:
  int ids = -1;  // parameter of the tile ids; how many of each: no value where no row has partial ones
  ir::Value first_partial{}, partials{}, first_full{}, fulls{};
  const mask::Source* source = nullptr;  // whose tiles they are; null: all there are
  int order = -1;                        // of its keys, in the kernel's list
};

// Runs walked as one, tile by tile, by a number from 0 on: one after the other, in each the last digit fastest.
class WalkedRuns {
 public:
  ir::Value lay_out(const std::vector<Run>& runs, ir::Builder& b);  // returns how many tiles they are
  bool empty() const { return parts_.empty(); }
  std::vector<ir::Value> tile(ir::Value number, ir::Builder& b) const;  // along each digit

 private:
  // Tiles [begin, end) of those that are walked. Of one digit, `from` is less where the part begins.
  struct Part {
    ir::Value begin, end;
    std::vector<ir::Value> from, sizes;
  };
  std::vector<Part> parts_;
};

// Emits the scalar arithmetic that finds the tiles of this program's query tile.
struct ScheduleRequest {
  ir::Axis query, key;
  const ir::Order& queries;
  int function_params;  // first kernel parameter of the mask's own
  int list_params;      // and of the source's list
  Place tile;           // the program's, of the queries
  ir::Value bound;      // number of keys
  bool has_bound;       // the program gave it
  ir::Value head, batch;
};
Schedule schedule(const mask::Source& source, const ScheduleRequest& request, const ProgramTiles& programs,
                  ir::Builder& into);
Schedule schedule_all(int tile, ir::Value bound, bool one_loop, ir::Builder& into);

// Puts identities where a reduction or product would read past the end of an axis. `guarded`: axes of loops that needed
// it.
ir::Kernel guard_edges(const Tiled& tiled, std::vector<ir::Axis>* guarded);

}  // namespace tessera::passes::detail
