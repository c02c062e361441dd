#include <algorithm>
#include <cstring>
#include <optional>

#include <tessera/dsl/ir/interpret.h>
#include <tessera/dsl/ir/interpret_memory.h>
#include <tessera/dsl/ir/interpret_nest.h>
#include <tessera/dsl/ir/interpret_number.h>

namespace tessera::ir {
namespace {

template <class T>
T read(const void* data, std::int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void write(void* data, std::int64_t index, T value) {
  std::memcpy(static_cast<char*>(data) + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

std::int32_t load_integer(const void* data, DType dtype, std::int64_t index) {
  return dtype == DType::i1 ? read<std::uint8_t>(data, index) != 0 : read<std::int32_t>(data, index);
}

}  // namespace

float load_element(const void* data, DType dtype, std::int64_t index) {
  switch (dtype) {
    case DType::i1:
    case DType::i32: return static_cast<float>(load_integer(data, dtype, index));
    case DType::f16: return interp::decode_f16(read<std::uint16_t>(data, index));
    case DType::bf16: return interp::decode_bf16(read<std::uint16_t>(data, index));
    case DType::f32: return read<float>(data, index);
  }
  throw InternalError("unknown dtype");
}

void store_element(void* data, DType dtype, std::int64_t index, float value) {
  switch (dtype) {
    case DType::i1: return write<std::uint8_t>(data, index, value != 0);
    case DType::i32: return write<std::int32_t>(data, index, interp::truncate(value));
    case DType::f16: return write(data, index, interp::encode_f16(value));
    case DType::bf16: return write(data, index, interp::encode_bf16(value));
    case DType::f32: return write(data, index, value);
  }
}

namespace interp {
namespace {

// n elements from `index` on, `step` apart.
void load_row(const View& view, std::int64_t index, std::int64_t step, std::int64_t n, Tile& tile, std::int64_t to) {
  const void* data = view.data;
  switch (view.dtype) {
    case DType::i1:
    case DType::i32:
      for (std::int64_t j = 0; j < n; ++j) {
        tile.data<std::int32_t>()[to + j] = load_integer(data, view.dtype, index + j * step);
      }
      return;
    case DType::f16:
      for (std::int64_t j = 0; j < n; ++j) {
        tile.data<float>()[to + j] = decode_f16(read<std::uint16_t>(data, index + j * step));
      }
      return;
    case DType::bf16:
      for (std::int64_t j = 0; j < n; ++j) {
        tile.data<float>()[to + j] = decode_bf16(read<std::uint16_t>(data, index + j * step));
      }
      return;
    case DType::f32:
      for (std::int64_t j = 0; j < n; ++j) tile.data<float>()[to + j] = read<float>(data, index + j * step);
      return;
  }
}

// What a tile's dims are in memory: which of their elements exist and how far apart they lie.
struct Window {
  struct Range {
    std::int64_t first, last;  // elements [first, last) of the tile's dim exist
    std::int64_t stride;       // in the view
  };
  std::vector<Range> dims;
  std::int64_t base = 0;  // of the tile's element (0, 0, ...), which need not exist
  bool empty = false;
};

Window window_of(const Place& place, const std::vector<Dim>& dims) {
  const View& view = *place.view;
  const std::size_t leading = place.outer.size();
  ensure(view.shape.size() == leading + place.axes->size(), "a view lacks dims of its parameter");
  Window window;
  for (std::size_t i = 0; i < leading; ++i) window.base += place.outer[i] * view.strides[i];
  window.dims.assign(dims.size(), {0, 0, 0});
  for (std::size_t i = 0; i < place.axes->size(); ++i) {
    const Axis axis = (*place.axes)[i];
    const std::int64_t start = place.starts[i], stride = view.strides[leading + i];
    std::int64_t limit = view.shape[leading + i];
    if (axis == place.bounded) limit = std::min(limit, place.bound);
    window.base += start * stride;
    const auto dim = std::find_if(dims.begin(), dims.end(), [axis](const Dim& d) { return d.axis == axis; });
    if (dim == dims.end()) {
      window.empty = window.empty || start < 0 || start >= limit;
      continue;
    }
    Window::Range& range = window.dims[static_cast<std::size_t>(dim - dims.begin())];
    range.first = std::clamp<std::int64_t>(-start, 0, dim->extent);
    range.last = std::clamp<std::int64_t>(limit - start, range.first, dim->extent);
    range.stride = stride;
    window.empty = window.empty || range.first == range.last;
  }
  return window;
}

// row(memory index, stride, n, coordinates of the row's first element) for every row of existing elements.
template <class Row>
void for_window(const Window& window, Row&& row) {
  if (window.empty) return;
  const std::size_t rank = window.dims.size();
  std::vector<std::int64_t> at(rank);
  for (std::size_t i = 0; i < rank; ++i) at[i] = window.dims[i].first;
  for (;;) {
    std::int64_t index = window.base;
    for (std::size_t i = 0; i < rank; ++i) index += at[i] * window.dims[i].stride;
    if (rank == 0) return row(index, std::int64_t{0}, std::int64_t{1}, at);
    const Window::Range& inner = window.dims[rank - 1];
    row(index, inner.stride, inner.last - inner.first, at);
    std::size_t dim = rank - 1;
    while (dim > 0 && ++at[dim - 1] == window.dims[dim - 1].last) {
      at[dim - 1] = window.dims[dim - 1].first;
      --dim;
    }
    if (dim == 0) return;
  }
}

// The same where an axis is cut in a token order: for each place along each of the tile's dims, its distance in memory,
// or none where there is no token.
struct Reach {
  std::vector<std::vector<std::optional<std::int64_t>>> offsets;
  std::int64_t base = 0;
};

Reach reach_of(const Place& place, const std::vector<Dim>& dims) {
  const View& view = *place.view;
  const std::size_t leading = place.outer.size();
  ensure(dims.size() == place.axes->size(), "a tile of a token order lacks axes of its tensor");
  Reach reach{std::vector<std::vector<std::optional<std::int64_t>>>(dims.size())};
  for (std::size_t i = 0; i < leading; ++i) reach.base += place.outer[i] * view.strides[i];
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const Axis axis = (*place.axes)[i];
    const std::int64_t stride = view.strides[leading + i];
    std::int64_t limit = view.shape[leading + i];
    if (axis == place.bounded) limit = std::min(limit, place.bound);
    const auto dim = std::find_if(dims.begin(), dims.end(), [axis](const Dim& d) { return d.axis == axis; });
    auto& offsets = reach.offsets[static_cast<std::size_t>(dim - dims.begin())];
    const OrderedTile& tile = place.ordered[i];
    for (int j = 0; j < dim->extent; ++j) {
      const bool exists = tile.cut ? tile.cut->exists(tile.firsts, tile.row + j, limit)
                                   : place.starts[i] + j >= 0 && place.starts[i] + j < limit;
      const std::int64_t token = tile.cut ? tile.cut->order.token(tile.firsts, tile.row + j) : place.starts[i] + j;
      offsets.push_back(exists ? std::optional(token * stride) : std::nullopt);
    }
  }
  return reach;
}

// element(memory index, coordinates) for every one that exists.
template <class Element>
void for_reach(const Reach& reach, Element&& element) {
  std::vector<std::int64_t> at(reach.offsets.size(), 0);
  for (;;) {
    std::int64_t index = reach.base;
    bool exists = true;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const auto& offset = reach.offsets[i][static_cast<std::size_t>(at[i])];
      exists = exists && offset;
      index += offset.value_or(0);
    }
    if (exists) element(index, at);
    std::size_t dim = at.size();
    while (dim > 0 && ++at[dim - 1] == std::ssize(reach.offsets[dim - 1])) at[--dim] = 0;
    if (dim == 0) return;
  }
}

std::int64_t offset_in(const Tile& tile, const std::vector<std::int64_t>& at) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < at.size(); ++i) offset += at[i] * tile.stride(i);
  return offset;
}

}  // namespace

Tile load(const Place& place, const std::vector<Dim>& dims) {
  if (!place.ordered.empty()) {
    Tile tile(place.view->dtype, dims);
    std::memset(tile.data<float>(), 0, static_cast<std::size_t>(tile.elements()) * sizeof(float));
    for_reach(reach_of(place, dims), [&](std::int64_t index, const auto& at) {
      load_row(*place.view, index, 0, 1, tile, offset_in(tile, at));
    });
    return tile;
  }
  const Window window = window_of(place, dims);
  Tile tile(place.view->dtype, dims);
  const bool whole =
      !window.empty && std::equal(dims.begin(), dims.end(), window.dims.begin(),
                                  [](const Dim& d, auto& r) { return r.first == 0 && r.last == d.extent; });
  if (!whole) std::memset(tile.data<float>(), 0, static_cast<std::size_t>(tile.elements()) * sizeof(float));
  for_window(window, [&](std::int64_t index, std::int64_t step, std::int64_t n, const auto& at) {
    load_row(*place.view, index, step, n, tile, offset_in(tile, at));
  });
  return tile;
}

void store(const Place& place, const Tile& tile) {
  const View& view = *place.view;
  const Tile source = tile.packed(tile.dims());
  const auto put = [&](std::int64_t index, std::int64_t from) {
    if (source.holds_floats()) {
      store_element(view.data, view.dtype, index, source.data<float>()[from]);
    } else if (view.dtype == DType::i32) {
      write(view.data, index, source.data<std::int32_t>()[from]);
    } else {
      write<std::uint8_t>(view.data, index, source.data<std::int32_t>()[from] != 0);
    }
  };
  if (!place.ordered.empty()) {
    return for_reach(reach_of(place, tile.dims()),
                     [&](std::int64_t index, const auto& at) { put(index, offset_in(source, at)); });
  }
  for_window(window_of(place, tile.dims()), [&](std::int64_t index, std::int64_t step, std::int64_t n, const auto& at) {
    const std::int64_t from = offset_in(source, at);
    for (std::int64_t j = 0; j < n; ++j) put(index + j * step, from + j);
  });
}

Tile gather(const View& table, std::span<const Tile* const> indices) {
  ensure(indices.size() == table.shape.size(), "gather has another number of indices than its table has dimensions");
  std::vector<Dim> dims;
  for (const Tile* index : indices) dims = broadcast_dims(dims, index->dims());
  if (table.elements() == 0) return Tile::number(table.dtype, 0, dims);

  std::vector<std::int64_t> offsets(static_cast<std::size_t>(Tile(DType::i32, dims).elements()), 0);
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const Tile index = indices[d]->packed(dims);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const std::int64_t at = index.data<std::int32_t>()[i];
      offsets[i] += std::clamp<std::int64_t>(at, 0, table.shape[d] - 1) * table.strides[d];
    }
  }
  Tile out(table.dtype, dims);
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    load_row(table, offsets[i], 0, 1, out, static_cast<std::int64_t>(i));
  }
  return out;
}

}  // namespace interp
}  // namespace tessera::ir
