#include <tessera/dsl/ir/interpret_nest.h>
#include <tessera/dsl/ir/interpret_number.h>
#include <tessera/dsl/ir/interpret_value.h>
#include <algorithm>

namespace tessera::ir::interp {

Tile::Tile(DType dtype, std::vector<Dim> dims) : dtype_(dtype), dims_(std::move(dims)), strides_(dims_.size()) {
  std::int64_t stride = 1;
  for (std::size_t i = dims_.size(); i-- > 0;) {
    strides_[i] = stride;
    stride *= dims_[i].extent;
  }
  if (!dims_.empty()) storage_.reset(new Element[static_cast<std::size_t>(stride)], std::default_delete<Element[]>());
}

Tile Tile::number(DType dtype, double value, std::vector<Dim> dims) {
  Tile tile;
  tile.dtype_ = dtype;
  tile.strides_.assign(dims.size(), 0);
  tile.dims_ = std::move(dims);
  if (is_float(dtype)) {
    tile.one_.number = round_to(dtype, static_cast<float>(value));
  } else {
    tile.one_.integer = dtype == DType::i1 ? value != 0 : static_cast<std::int32_t>(value);
  }
  return tile;
}

const Dim* Tile::find(Axis axis) const {
  const auto dim = std::find_if(dims_.begin(), dims_.end(), [axis](const Dim& d) { return d.axis == axis; });
  return dim == dims_.end() ? nullptr : &*dim;
}

std::int64_t Tile::stride(Axis axis) const {
  const Dim* dim = find(axis);
  return dim ? strides_[static_cast<std::size_t>(dim - dims_.data())] : 0;
}

std::int64_t Tile::elements() const {
  std::int64_t product = 1;
  for (const Dim& dim : dims_) product *= dim.extent;
  return product;
}

bool Tile::contiguous() const {
  std::int64_t stride = 1;
  for (std::size_t i = dims_.size(); i-- > 0;) {
    if (dims_[i].extent != 1 && strides_[i] != stride) return false;
    stride *= dims_[i].extent;
  }
  return true;
}

Tile Tile::repeated(const std::vector<Dim>& dims) const {
  Tile tile = *this;
  tile.dims_ = dims;
  tile.strides_.clear();
  for (const Dim& dim : dims) tile.strides_.push_back(stride(dim.axis));
  for (const Dim& dim : dims_) {
    const Dim* found = tile.find(dim.axis);
    ensure(found && found->extent == dim.extent, "a tile was broadcast to dims that lack one of its own");
  }
  return tile;
}

Tile Tile::part(Axis axis, int start, int extent) const {
  const Dim* dim = find(axis);
  ensure(dim && start >= 0 && extent >= 0 && start + extent <= dim->extent, "part of a tile reaches outside it");
  Tile tile = *this;
  tile.dims_[static_cast<std::size_t>(dim - dims_.data())].extent = extent;
  if (storage_) tile.storage_ = std::shared_ptr<Element>(storage_, storage_.get() + start * stride(axis));
  return tile;
}

Tile Tile::packed(const std::vector<Dim>& dims) const {
  if (dims == dims_ && contiguous()) return *this;
  const Tile source = repeated(dims);
  Tile out(dtype_, dims);
  if (out.dims_.empty()) {
    out.one_ = *source.data<Element>();
    return out;
  }
  for_rows(make_nest<2>(dims, {&out, &source}), [&](const auto& at, const auto& strides, std::int64_t n) {
    Element* to = out.data<Element>() + at[0];
    const Element* from = source.data<Element>() + at[1];
    for (std::int64_t j = 0; j < n; ++j) to[j] = from[j * strides[1]];
  });
  return out;
}

}  // namespace tessera::ir::interp
