// Tensor maps as the hardware reads them, byte for byte, swizzle and outsides included.
#include <doctest/doctest.h>

#include <vector>

#include <tessera/runtime/memory.h>
#include <tessera/runtime/program.h>
#include <tessera/runtime/tensor_map.h>

#include "runtime/kernels.h"

using namespace tessera::runtime;

namespace {

using Element = std::uint16_t;

// Copies the box of `view` at (column, row) through shared memory, and undoes the swizzle.
std::vector<Element> copy_box(const Device& device, const TensorView& view, int column, int row) {
  static const Program program(Assembler::find().assemble(test::copy_box_ptx, {}), "copy_box", 64 << 10);
  const int columns = view.box[0], rows = view.box[1];
  int bytes = columns * rows * 2;
  DeviceBuffer out(device, bytes);
  cu::TensorMap map = encode(device, view);
  std::uint64_t address = out.address();
  void* parameters[] = {&map, &address, &column, &row, &bytes};
  program.on(device).launch({.block = {128, 1, 1}, .shared_bytes = 64 << 10}, parameters, nullptr);
  std::vector<Element> raw(static_cast<std::size_t>(columns) * rows), box(raw.size());
  copy_to_host(device, raw.data(), out.address(), bytes);
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) {
      const int unit = view.swizzle == Swizzle::bytes_128 ? (c / 8) ^ (r & 7) : c / 8;
      box[r * columns + c] = raw[r * columns + unit * 8 + c % 8];
    }
  }
  return box;
}

struct Tensor {
  Tensor(const Device& device, int rows, int pitch)
      : pitch(pitch), values(rows * pitch), memory(device, rows * pitch * 2) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<Element>(i * 3 + 1);
    copy_to_device(device, memory.address(), values.data(), memory.bytes());
  }
  TensorView view(int columns, int rows) const {
    TensorView view;
    view.base = memory.address();
    view.rank = 2;
    view.extents = {columns, rows};
    view.byte_strides = {0, pitch * 2};
    view.box = {64, 32};
    return view;
  }
  int pitch;
  std::vector<Element> values;
  DeviceBuffer memory;
};

}  // namespace

TEST_CASE("a box arrives as the view says, with zeros outside of it") {
  Device device = Device::open(0);
  if (device.info().major < 9) {
    MESSAGE("skipped: needs bulk tensor copies, ", device.info().text());
    return;
  }
  Tensor tensor(device, 50, 136);
  const TensorView view = tensor.view(120, 45);
  for (auto place : {std::pair{0, 0}, {64, 0}, {64, 32}, {0, -5}, {-8, 40}, {200, 0}, {0, 1000}}) {
    const int column = place.first, row = place.second;
    CAPTURE(column);
    CAPTURE(row);
    std::vector<Element> wanted(64 * 32);
    for (int r = 0; r < 32; ++r) {
      for (int c = 0; c < 64; ++c) {
        const int x = column + c, y = row + r;
        const bool inside = x >= 0 && x < 120 && y >= 0 && y < 45;
        wanted[r * 64 + c] = inside ? tensor.values[y * 136 + x] : 0;
      }
    }
    CHECK(copy_box(device, view, column, row) == wanted);
  }
}

TEST_CASE("a stride of zero repeats a row, and no swizzle leaves rows as they are") {
  Device device = Device::open(0);
  if (device.info().major < 9) return;
  Tensor tensor(device, 2, 64);
  TensorView view = tensor.view(64, 1000);
  view.byte_strides[1] = 0;
  view.swizzle = Swizzle::none;
  const std::vector<Element> box = copy_box(device, view, 0, 900);
  for (int i = 0; i < 64 * 32; ++i) REQUIRE(box[i] == tensor.values[i % 64]);
}

TEST_CASE("an empty view reads as zeros, whatever its base") {
  Device device = Device::open(0);
  if (device.info().major < 9) return;
  Tensor tensor(device, 32, 64);
  for (std::uint64_t base : {tensor.memory.address(), std::uint64_t{0}}) {
    TensorView view = tensor.view(64, 0);
    view.base = base;
    CHECK(copy_box(device, view, 0, 0) == std::vector<Element>(64 * 32, 0));
  }
}

TEST_CASE("what our checks accept, the driver accepts") {
  Device device = Device::open(0);
  if (device.info().major < 9) return;
  TensorView view;
  view.base = device.zeros();
  for (int rank = 1; rank <= max_tensor_rank; ++rank) {
    view.rank = rank;
    view.box = {64, 256, 1, 1, 1};
    view.extents = {1, std::int64_t{1} << 32, 1, std::int64_t{1} << 32, 7};
    view.byte_strides = {0, 0, 16, (std::int64_t{1} << 40) - 16, 48};
    CHECK_NOTHROW(encode(device, view));
  }
}
