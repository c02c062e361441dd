#include <tessera/library/ordered_view.h>

#include <limits>
#include <numeric>

#include <fmt/format.h>

namespace tessera::library {

namespace {

constexpr std::int64_t kAlignment = 16;

}  // namespace

runtime::ElementType element_type(DType dtype) {
  switch (dtype) {
    case DType::i1: return runtime::ElementType::u8;
    case DType::i32: return runtime::ElementType::i32;
    case DType::f16: return runtime::ElementType::f16;
    case DType::bf16: return runtime::ElementType::bf16;
    case DType::f32: return runtime::ElementType::f32;
  }
  throw InternalError("element type without a tensor map type");
}

OrderedView::OrderedView(const backend::Slot& slot, const ir::Kernel& kernel, const View& view)
    : slot_(slot), view_(view), order_{slot.digits} {
  const ir::Param& param = kernel.params[static_cast<std::size_t>(slot.param)];
  ensure(param.axes.size() == 2, "a copied tensor has two axes beside the grid's");
  const std::size_t unlisted = view.shape.size() - 2;
  axes_ = backend::ordered_map(order_, unlisted);
  const std::int64_t length = view.shape[unlisted], element = bytes_of(view.dtype);
  const auto digit = [&](std::size_t i) {
    const std::int64_t weight = order_.digits[i].weight;
    const std::int64_t values = slot.complete && i == 0 ? length / weight : order_.values(i, length);
    return Axis{values, weight * view.strides[unlisted] * element};
  };
  for (std::size_t i : axes_.boxes) boxes_.push_back(digit(i));
  for (std::size_t i : axes_.others) parts_.push_back(digit(i));
  for (std::size_t dim = unlisted; dim-- > 0;) parts_.push_back({view.shape[dim], view.strides[dim] * element});
  if (!axes_.offsets) return;
  std::int64_t reach = 0;
  for (const Axis& part : parts_) {
    if (part.extent <= 1) continue;
    if (part.byte_stride < 0 || part.byte_stride % kAlignment != 0)
      throw UserError({},
                      fmt::format("{} has a stride of {} bytes, not a multiple of 16 that goes forward", param.name,
                                  part.byte_stride),
                      fmt::format("pad its rows to a multiple of {} elements", kAlignment / element));
    step_ = std::gcd(step_, part.byte_stride);
    reach += (part.extent - 1) * part.byte_stride;
  }
  if (step_ == 0) step_ = kAlignment;
  if (reach / step_ > std::numeric_limits<std::int32_t>::max())
    throw UserError({},
                    fmt::format("{} reaches over {} steps of {} bytes, above the limit of 2^31 - 1", param.name,
                                reach / step_, step_),
                    "split the call, or make the strides multiples of a larger power of two");
}

runtime::TensorView OrderedView::map() const {
  runtime::TensorView map;
  map.element = element_type(view_.dtype);
  map.base = reinterpret_cast<std::uint64_t>(view_.data);
  const auto add = [&](const Axis& axis, int box) {
    const auto at = static_cast<std::size_t>(map.rank++);
    map.extents[at] = axis.extent;
    map.byte_strides[at] = axis.byte_stride;
    map.box[at] = box;
  };
  add({view_.shape.back(), 0}, slot_.columns);
  for (std::size_t i = 0; i < boxes_.size(); ++i) add(boxes_[i], order_.digits[axes_.boxes[i]].tile);
  if (!axes_.offsets) {
    for (const Axis& part : parts_) add(part, 1);
    return map;
  }
  std::int64_t steps = 1;
  for (const Axis& part : parts_)
    steps = part.extent == 0 || steps == 0 ? 0 : steps + (part.extent - 1) * part.byte_stride / step_;
  add({steps, step_}, 1);
  return map;
}

std::uint32_t OrderedView::multiple(int part) const {
  const Axis& axis = parts_[static_cast<std::size_t>(part)];
  return axis.extent <= 1 ? 0 : static_cast<std::uint32_t>(axis.byte_stride / step_);
}

}  // namespace tessera::library
