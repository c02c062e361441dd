// A compiled kernel and the recipe for launching it: what to put in each kernel parameter. No pointers, no driver
// types.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tessera/dsl/ir/ir.h>

namespace tessera::backend {

enum class SlotKind : std::uint8_t {
  tensor_map,  // 128 bytes, 64-byte aligned: the view of `param` with the box below
  pointer,     // 8 bytes: address of `param`'s element 0
  multiple,    // 4 bytes: how often the stride of a tensor map's axis of offsets goes into that of its `dim`-th part
  stride,      // 8 bytes: stride in elements of dim `dim` of `param`'s completed shape
  extent,      // 4 bytes: extent of dim `dim` of `param` (tables: for clamping)
  group,       // 4 bytes: divisor of the program index along unlisted grid axis `dim` of `param`
  length,      // 4 bytes: length of `axis`
  scalar,      // 4 bytes: value of scalar `param`, as f32 or i32 by its dtype
  programs,    // 4 bytes: how many programs the launch has
  counter,     // 8 bytes: address of an i32 of global memory that is 0 and nobody else's while the launch runs; it
               // is 0 again when the launch has ended
};

// One kernel parameter, in order.
struct Slot {
  SlotKind kind;
  int param = -1;
  int dim = -1;
  ir::Axis axis{};
  // tensor_map. Axes of the map, innermost first: the parameter's last listed axis, the other listed axes, the unlisted
  // grid axes (innermost first). Box: `columns` x `rows` x 1 x 1; 128-byte swizzle; elements outside read as 0.
  int columns = 0;
  int rows = 0;
  // In a token order (ordered_map.h), of the tensor's axis before the last: its digits. `complete`: without the first
  // digit's last value, if that is incomplete.
  std::vector<ir::OrderDigit> digits{};
  bool complete = false;
  friend bool operator==(const Slot&, const Slot&) = default;
};

struct Artifact {
  std::string entry;   // kernel name in the PTX
  std::string target;  // "sm_90a"
  std::string ptx;
  int threads = 0;  // of a block
  int blocks = 1;   // that a multiprocessor runs at once
  bool persistent =
      false;             // blocks take programs: launch as many as run at once, at most as many as there are programs
  int shared_bytes = 0;  // dynamic
  std::vector<Slot> slots;
  // Tiles of the grid axes: how many programs a launch has. A block computes the program of its own number, or where
  // the kernel is persistent that one first; which place of the grid a number is, ir::program_at says by the kernel's
  // order.
  std::vector<ir::Dim> grid;
};

}  // namespace tessera::backend
