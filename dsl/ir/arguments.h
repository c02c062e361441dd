// What a kernel is called with, and the numbers that follow from it: axis lengths and group sizes.
//
// Shared by the interpreter and by launches, so that both accept and refuse the same calls with the same words.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include <tessera/dsl/ir/ir.h>

namespace tessera {

enum class Memory : std::uint8_t { host, device };

// A strided window on memory that somebody else owns. Strides count elements. The shape of a kernel argument is
// [grid axes that no tensor lists, outermost first] + [listed axes]: q of the forward kernel is (B, H, N, D).
// Missing leading dims count as extent 1.
struct View {
  void* data = nullptr;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  Memory memory = Memory::host;

  static View contiguous(void* data, DType dtype, std::vector<std::int64_t> shape, Memory memory = Memory::host);
  std::int64_t elements() const;
};

}  // namespace tessera

namespace tessera::ir {

using Argument = std::variant<View, double>;  // tensors and tables; scalars

// What a kernel is called with: its own parameters, then, while it is traced, those of its functions.
std::vector<Param> call_params(const Kernel& kernel);

// The grid axes that no tensor lists, outermost first: [Batch, Head] of the forward kernel. They step by 1 and are the
// leading dims of every tensor's completed shape.
std::vector<Axis> outer_axes(const Kernel& kernel);

struct AxisLength {
  Axis axis;
  std::int64_t length;
};

// The call, resolved. `groups[p][i]`: program index along the i-th of outer_axes is divided by this for parameter p.
struct Binding {
  std::vector<Argument> arguments;  // in the order of call_params; view shapes completed with leading 1s
  std::vector<AxisLength> lengths;  // every axis of grid, tensors and loops
  std::vector<std::vector<std::int64_t>> groups;

  std::int64_t length(Axis axis) const;                                   // InternalError for an unknown axis
  std::int64_t tiles(const Kernel& kernel, std::size_t grid_axis) const;  // programs along it: ceil(length / tile)
};

// Checks every argument against its parameter and works out lengths and groups. UserErrors name the parameter, the
// numbers on both sides and the remedy: wrong count, dtype, rank, axis length that differs between tensors, head counts
// that do not divide, whole axes that differ from what the kernel was tiled for, stride 0 on an output. Arguments of a
// traced kernel's functions may all be left out: lengths do not depend on them, running it does.
Binding bind(const Kernel& kernel, std::vector<Argument> arguments);

}  // namespace tessera::ir
