#include <tessera/runtime/tensor_map.h>

#include <fmt/format.h>

namespace tessera::runtime {

namespace {

constexpr std::int64_t alignment = 16;
constexpr std::int64_t stride_end = std::int64_t{1} << 40;
constexpr std::int64_t max_extent = std::int64_t{1} << 32;
constexpr int max_box = 256;
constexpr int swizzle_bytes = 128;

cu::TensorMapType driver_type(ElementType type) {
  switch (type) {
    case ElementType::u8: return cu::TensorMapType::uint8;
    case ElementType::f16: return cu::TensorMapType::float16;
    case ElementType::bf16: return cu::TensorMapType::bfloat16;
    case ElementType::f32: return cu::TensorMapType::float32;
    case ElementType::i32: return cu::TensorMapType::int32;
  }
  return {};
}

void check_memory(const TensorView& view) {
  const int bytes = bytes_of(view.element);
  for (int axis = 0; axis < view.rank; ++axis) {
    if (std::int64_t extent = view.extents[axis]; extent < 0 || extent > max_extent) {
      throw InvalidView(fmt::format("axis {} has {} elements, not between 0 and 2^32", axis, extent),
                        "split the tensor");
    }
  }
  if (view.empty()) return;
  if (view.base % alignment != 0) {
    throw InvalidView(
        fmt::format("the address is {} bytes past a multiple of 16", view.base % alignment),
        fmt::format("start the view at a multiple of {} elements of a 16-byte aligned allocation", alignment / bytes));
  }
  for (int axis = 1; axis < view.rank; ++axis) {
    const std::int64_t stride = view.byte_strides[axis];
    if (view.extents[axis] == 1) continue;
    if (stride < 0 || stride >= stride_end) {
      throw InvalidView(fmt::format("axis {} has a stride of {} bytes, not between 0 and 2^40", axis, stride),
                        stride < 0 ? "copy the tensor in forward order" : "split the tensor");
    }
    if (stride % alignment != 0) {
      throw InvalidView(fmt::format("axis {} has a stride of {} bytes, not a multiple of 16", axis, stride),
                        fmt::format("pad its rows to a multiple of {} elements", alignment / bytes));
    }
  }
}

void check_box(const TensorView& view) {
  for (int axis = 0; axis < view.rank; ++axis) {
    if (int size = view.box[axis]; size < 1 || size > max_box) {
      throw InvalidView(fmt::format("the box has {} elements on axis {}, not between 1 and 256", size, axis),
                        "use a smaller tile");
    }
  }
  const int row = view.box[0] * bytes_of(view.element);
  if (row % alignment != 0) {
    throw InvalidView(fmt::format("a row of the box is {} bytes, not a multiple of 16", row), "use a wider tile");
  }
  if (view.swizzle == Swizzle::bytes_128 && row > swizzle_bytes) {
    throw InvalidView(fmt::format("a row of the box is {} bytes, more than the 128 that a swizzle spans", row),
                      "use several boxes");
  }
}

}  // namespace

int bytes_of(ElementType type) {
  switch (type) {
    case ElementType::u8: return 1;
    case ElementType::f16:
    case ElementType::bf16: return 2;
    case ElementType::f32:
    case ElementType::i32: return 4;
  }
  return 0;
}

bool TensorView::empty() const {
  for (int axis = 0; axis < rank; ++axis) {
    if (extents[axis] == 0) return true;
  }
  return false;
}

void check(const TensorView& view) {
  if (view.rank < 1 || view.rank > max_tensor_rank) {
    throw InvalidView(fmt::format("the view has {} axes, not between 1 and {}", view.rank, max_tensor_rank),
                      "merge or split axes");
  }
  check_memory(view);
  check_box(view);
}

cu::TensorMap encode(const Device& device, const TensorView& view) {
  ScopedContext current(device);
  return encode(view, device.zeros());
}

cu::TensorMap encode(const TensorView& view, std::uint64_t zeros) {
  check(view);
  const bool empty = view.empty();
  std::uint64_t extents[max_tensor_rank], strides[max_tensor_rank] = {};
  std::uint32_t box[max_tensor_rank], ones[max_tensor_rank];
  for (int axis = 0; axis < view.rank; ++axis) {
    extents[axis] = empty ? 1 : static_cast<std::uint64_t>(view.extents[axis]);
    box[axis] = static_cast<std::uint32_t>(view.box[axis]);
    ones[axis] = 1;
    if (axis > 0)
      strides[axis - 1] = extents[axis] == 1 ? alignment : static_cast<std::uint64_t>(view.byte_strides[axis]);
  }
  cu::TensorMap map;
  const auto& call = driver().tensor_map_encode_tiled;
  const cu::Result result = call.status(
      &map, driver_type(view.element), static_cast<std::uint32_t>(view.rank),
      reinterpret_cast<void*>(empty ? zeros : view.base), extents, strides, box, ones, cu::TensorMapInterleave::none,
      view.swizzle == Swizzle::bytes_128 ? cu::TensorMapSwizzle::bytes_128 : cu::TensorMapSwizzle::none,
      cu::TensorMapL2Promotion::bytes_256, cu::TensorMapFill::zeros);
  if (result != cu::Result::success) {
    throw DriverError(driver(), call.name(), result,
                      fmt::format("describing a tensor of {} axes at {:#x}", view.rank, view.base));
  }
  return map;
}

}  // namespace tessera::runtime
