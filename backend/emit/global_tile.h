// Addresses and bounds of a tile in global memory, as its layout spreads it over the threads.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include <tessera/backend/emit/ordered_rows.h>

namespace tessera::backend {

// One access of a load or store: parameter `param` at `starts` (of each listed axis an i32, or the handle of a tile of
// a token order), through a tile of type `type`. Positions at or past `bound` along `bounded` do not exist, whatever
// the tensor's length says.
class GlobalTile {
 public:
  GlobalTile(Emitter& e, int param, const ir::Type& type, const std::vector<Bound>& starts, ir::Axis bounded,
             llvm::Value* bound);

  // Elements that one instruction can move at most: registers first .. first + width - 1 hold neighbours of the last
  // axis.
  int width() const { return width_; }
  // Whether this call's pointers, strides and lengths allow instructions of `width()` elements (i1, uniform).
  llvm::Value* aligned() const;

  // The register runs, `width` registers each, that share the conditions under which they exist.
  struct Group {
    llvm::Value* exists = nullptr;  // i1; null: always
    std::vector<int> first;         // first register of each run
  };
  std::vector<Group> groups(int width) const;
  llvm::Value* pointer(int reg, int width) const;  // of a run of `width` registers from `reg` on

 private:
  struct Dim {
    ir::Axis axis{};
    llvm::Value* stride = nullptr;          // elements, i64
    llvm::Value* start = nullptr;           // i32
    llvm::Value* thread = nullptr;          // i32: what lane and warp add
    llvm::Value* limit = nullptr;           // i32: positions from here on do not exist
    bool in_tile = false;                   // the tile has the axis
    bool checked = false;                   // some position may not exist
    std::optional<OrderedPlaces> places{};  // of a tile of a token order, in place of start, thread and limit
  };

  Dim dim(int listed, const Bound& start, ir::Axis bounded, llvm::Value* bound) const;
  llvm::Value* implicit_offset() const;
  void find_width();
  // Position of `reg` along the d-th axis from the thread's first one.
  int at(const Dim& d, int reg) const;
  bool surely_exists(const Dim& d, int reg) const;

  Emitter& e_;
  const int param_;
  const ir::Type& type_;
  std::vector<Dim> dims_;
  std::vector<llvm::Value*> outer_strides_;  // of implicit axes
  llvm::Value* base_ = nullptr;              // address of the thread's first element
  int width_ = 1;
};

// Element offset of the program's own place along the implicit axes of a tensor (i64).
llvm::Value* program_offset(Emitter& e, int param);
// Program index along the i-th implicit axis, divided by the tensor's group (i32).
llvm::Value* program_coordinate(Emitter& e, int param, int implicit);
Values program_coordinates(Emitter& e, int param);  // along all of them, innermost first

}  // namespace tessera::backend
