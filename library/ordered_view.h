// A tensor as the tensor map of a token order sees it (backend/ordered_map.h): plain numbers from a view and its
// digits.
#pragma once

#include <tessera/backend/artifact.h>
#include <tessera/backend/ordered_map.h>
#include <tessera/dsl/ir/arguments.h>
#include <tessera/runtime/tensor_map.h>

namespace tessera::library {

runtime::ElementType element_type(DType dtype);

class OrderedView {
 public:
  // `slot`: a tensor map or a multiple, with digits. `view` has its completed shape.
  // UserError: strides whose axis of offsets would be too long.
  OrderedView(const backend::Slot& slot, const ir::Kernel& kernel, const View& view);

  runtime::TensorView map() const;
  std::uint32_t multiple(int part) const;  // 0 along a part of one element

 private:
  struct Axis {
    std::int64_t extent, byte_stride;
  };

  const backend::Slot& slot_;
  const View& view_;
  ir::Order order_;
  backend::OrderedMap axes_;
  std::vector<Axis> boxes_, parts_;  // in the order of the map
  std::int64_t step_ = 0;            // byte stride of the axis of offsets
};

}  // namespace tessera::library
