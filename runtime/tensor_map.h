// Tensor maps: how the TMA unit finds a tile of a tensor in global memory. Encoded from plain numbers.
//
// Axis 0 is innermost with a stride of one element; the other axes have strides in bytes, zero included (a broadcast).
// A box is read per copy; what lies outside the extents arrives as zeros and is not touched in memory.
#pragma once

#include <array>
#include <cstdint>

#include <tessera/runtime/device.h>

namespace tessera::runtime {

inline constexpr int max_tensor_rank = 5;

enum class ElementType : std::uint8_t { u8, f16, bf16, f32, i32 };

int bytes_of(ElementType type);

enum class Swizzle : std::uint8_t { none, bytes_128 };

// A view of a tensor, and the box a copy takes of it. Entries past `rank` are ignored.
struct TensorView {
  ElementType element = ElementType::bf16;
  std::uint64_t base = 0;  // device address of element 0
  int rank = 0;
  std::array<std::int64_t, max_tensor_rank> extents{};
  std::array<std::int64_t, max_tensor_rank> byte_strides{};  // [0] is ignored
  std::array<int, max_tensor_rank> box{};
  Swizzle swizzle = Swizzle::bytes_128;

  bool empty() const;  // no elements
};

// A view that no tensor map can describe; the cause has the number wanted and the number given.
class InvalidView : public Error {
 public:
  using Error::Error;
};

// Throws InvalidView unless the hardware can read the view:
//   base a multiple of 16; strides multiples of 16 in [0, 2^40); extents in [0, 2^32]; box 1..256 on every axis,
//   its innermost row a multiple of 16 bytes and, swizzled, at most 128. An empty view needs no valid base, and an axis
//   of one element, which is never stepped along, no valid stride.
void check(const TensorView& view);

// Checks and encodes, for kernels on `device`. Hardware has no empty tensors: an empty view becomes one element of the
// device's zeros, so that every read of it gives zeros. Never store through such a map: launches whose outputs are
// empty have nothing to do.
cu::TensorMap encode(const Device& device, const TensorView& view);

// The same for a caller that has made the device's context current already (ScopedContext), for all that it does before
// a launch. `zeros` is Device::zeros.
cu::TensorMap encode(const TensorView& view, std::uint64_t zeros);

}  // namespace tessera::runtime
