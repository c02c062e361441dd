#include <tessera/library/launch.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include <tessera/library/ordered_view.h>

namespace tessera::library {

namespace {

using backend::Slot;
using backend::SlotKind;

std::uint32_t small(std::int64_t value, const char* what) {
  if (value < 0 || value > std::numeric_limits<std::int32_t>::max()) {
    throw UserError({}, fmt::format("{} is {}, above the limit of 2^31 - 1", what, value), "split the call");
  }
  return static_cast<std::uint32_t>(value);
}

std::uint32_t scalar_bits(DType dtype, double value) {
  std::uint32_t bits = 0;
  if (dtype == DType::i32) {
    bits = static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  } else {
    auto narrow = static_cast<float>(value);
    std::memcpy(&bits, &narrow, sizeof bits);
  }
  return bits;
}

constexpr char kNothing = 0;  // an address that no tensor has

const View& view_of(const ir::Binding& binding, int param) {
  return std::get<View>(binding.arguments[static_cast<std::size_t>(param)]);
}

}  // namespace

LaunchImage::LaunchImage(const backend::Artifact& artifact, const ir::Kernel& kernel, const ir::Binding& binding,
                         std::uint64_t zeros)
    : zeros_(zeros), at_once_(artifact.persistent ? artifact.blocks : 0) {
  shape_.block[0] = artifact.threads;
  shape_.shared_bytes = artifact.shared_bytes;
  for (std::size_t axis = 0; axis < kernel.grid.size(); ++axis) programs_ *= binding.tiles(kernel, axis);
  small(programs_, "the number of blocks");
  std::size_t maps = 0;
  for (const Slot& slot : artifact.slots) maps += slot.kind == SlotKind::tensor_map;
  maps_.reserve(maps);  // addresses_ point into both
  words_.reserve(artifact.slots.size());
  current_.resize(kernel.params.size(), nullptr);
  for (std::size_t param = 0; param < kernel.params.size(); ++param) {
    if (const View* view = std::get_if<View>(&binding.arguments[param])) current_[param] = view->data;
  }
  if (programs_ == 0) return;
  for (const Slot& slot : artifact.slots) fill(slot, kernel, binding);
}

void LaunchImage::fill(const Slot& slot, const ir::Kernel& kernel, const ir::Binding& binding) {
  if (slot.kind == SlotKind::tensor_map) return fill_tensor_map(slot, kernel, view_of(binding, slot.param));

  auto dim = static_cast<std::size_t>(slot.dim);
  std::uint64_t word = 0;
  switch (slot.kind) {
    case SlotKind::tensor_map: break;
    case SlotKind::pointer:
      word = reinterpret_cast<std::uint64_t>(view_of(binding, slot.param).data);
      pointers_.push_back({.param = slot.param, .word = static_cast<int>(words_.size())});
      break;
    case SlotKind::multiple: word = OrderedView(slot, kernel, view_of(binding, slot.param)).multiple(slot.dim); break;
    case SlotKind::stride: word = static_cast<std::uint64_t>(view_of(binding, slot.param).strides[dim]); break;
    case SlotKind::extent: word = small(view_of(binding, slot.param).shape[dim], "a table's extent"); break;
    case SlotKind::group: word = small(binding.groups[static_cast<std::size_t>(slot.param)][dim], "a group"); break;
    case SlotKind::length: word = small(binding.length(slot.axis), "an axis length"); break;
    case SlotKind::scalar: {
      DType dtype = kernel.params[static_cast<std::size_t>(slot.param)].dtype;
      word = scalar_bits(dtype, std::get<double>(binding.arguments[static_cast<std::size_t>(slot.param)]));
      scalars_.push_back({.param = slot.param, .word = static_cast<int>(words_.size())});
      scalar_types_.push_back(dtype);
      break;
    }
    case SlotKind::programs: word = static_cast<std::uint64_t>(programs_); break;
    case SlotKind::counter: counter_ = static_cast<int>(words_.size()); break;
  }
  words_.push_back(word);
  addresses_.push_back(&words_.back());
}

void LaunchImage::fill_tensor_map(const Slot& slot, const ir::Kernel& kernel, const View& view) {
  if (!slot.digits.empty()) return add_map(slot.param, kernel, OrderedView(slot, kernel, view).map());
  runtime::TensorView map;
  map.element = element_type(view.dtype);
  map.base = reinterpret_cast<std::uint64_t>(view.data);
  map.rank = static_cast<int>(view.shape.size());
  if (map.rank > runtime::max_tensor_rank) {
    throw UserError(
        {},
        fmt::format("{} has {} dims, the limit is {}", kernel.params[static_cast<std::size_t>(slot.param)].name,
                    map.rank, runtime::max_tensor_rank),
        "merge dims");
  }
  for (int axis = 0; axis < map.rank; ++axis) {
    auto dim = static_cast<std::size_t>(map.rank - 1 - axis);
    auto at = static_cast<std::size_t>(axis);
    map.extents[at] = view.shape[dim];
    // A dim of one element is never stepped along: whatever stride it was given must not be held against it.
    map.byte_strides[at] =
        view.shape[dim] == 1 ? runtime::bytes_of(map.element) * 16 : view.strides[dim] * runtime::bytes_of(map.element);
    map.box[at] = axis == 0 ? slot.columns : axis == 1 ? slot.rows : 1;
  }
  add_map(slot.param, kernel, map);
}

void LaunchImage::add_map(int param, const ir::Kernel& kernel, const runtime::TensorView& map) {
  pointers_.push_back({.param = param, .map = static_cast<int>(maps_.size())});
  try {
    maps_.push_back(runtime::encode(map, zeros_));
  } catch (const runtime::InvalidView& error) {
    throw UserError({}, kernel.params[static_cast<std::size_t>(param)].name + ": " + error.cause(), error.remedy());
  }
  views_.push_back(map);
  addresses_.push_back(&maps_.back());
}

void LaunchImage::launch(const runtime::Function& function, runtime::cu::Stream stream) {
  if (programs_ == 0) return;
  const runtime::Device& device = function.device();
  const std::int64_t at_once = std::int64_t{at_once_} * device.info().multiprocessors;
  shape_.grid[0] = at_once > 0 ? std::min(programs_, at_once) : programs_;
  if (counter_ < 0) return function.launch(shape_, parameters(), stream);
  const runtime::ScopedContext current(device);  // the null stream belongs to it
  if (!counters_) counters_ = &runtime::LaunchCounters::of(device);
  words_[static_cast<std::size_t>(counter_)] = counters_->counter_for(stream);
  function.launch(shape_, parameters(), stream);
}

void LaunchImage::set_pointer(int param, const void* data) {
  current_[static_cast<std::size_t>(param)] = &kNothing;  // until all its places are written: encoding may fail
  for (const Place& place : pointers_) {
    if (place.param != param) continue;
    auto address = reinterpret_cast<std::uint64_t>(data);
    if (place.word >= 0) {
      words_[static_cast<std::size_t>(place.word)] = address;
    } else {
      auto map = static_cast<std::size_t>(place.map);
      views_[map].base = address;
      maps_[map] = runtime::encode(views_[map], zeros_);
    }
  }
  current_[static_cast<std::size_t>(param)] = data;
}

void LaunchImage::set_scalar(int param, double value) {
  for (std::size_t i = 0; i < scalars_.size(); ++i) {
    if (scalars_[i].param == param)
      words_[static_cast<std::size_t>(scalars_[i].word)] = scalar_bits(scalar_types_[i], value);
  }
}

}  // namespace tessera::library
