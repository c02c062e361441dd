// The parameters of a launch, slot by slot. Tensor maps need a driver; everything else is plain numbers.
#include <tessera/library/launch.h>

#include <cstring>

#include <doctest/doctest.h>

#include <tessera/dsl/ir/print.h>

using namespace tessera;
using backend::SlotKind;

namespace {

template <class T>
T parameter(library::LaunchImage& image, int i) {
  T value;
  std::memcpy(&value, image.parameters()[i], sizeof value);
  return value;
}

ir::Kernel elementwise() {
  ir::Kernel kernel;
  kernel.name = "scale";
  kernel.stage = ir::Stage::tiled;
  ir::Axis query = ir::Axis::named("Query"), head = ir::Axis::named("Head"), batch = ir::Axis::named("Batch");
  kernel.grid = {query, head, batch};
  kernel.grid_tiles = {{query, 64}, {head, 1}, {batch, 1}};
  kernel.params = {{"x", ir::ParamKind::input, DType::f32, {query}, 1},
                   {"y", ir::ParamKind::output, DType::f32, {query}, 1},
                   {"factor", ir::ParamKind::scalar, DType::f32, {}, 0},
                   {"shift", ir::ParamKind::scalar, DType::i32, {}, 0},
                   {"table", ir::ParamKind::table, DType::i32, {}, 2}};
  return kernel;
}

}  // namespace

TEST_CASE("each slot holds what the call gave, and addresses and scalars can be replaced") {
  ir::Kernel kernel = elementwise();
  float x[2 * 2 * 100], y[2 * 4 * 100], other[1];
  std::int32_t table[6] = {};
  View in = View::contiguous(x, DType::f32, {2, 2, 100}), out = View::contiguous(y, DType::f32, {2, 4, 100});
  ir::Binding binding = ir::bind(kernel, {in, out, 0.5, -7.0, View::contiguous(table, DType::i32, {2, 3})});

  backend::Artifact artifact;
  artifact.slots = {
      {.kind = SlotKind::pointer, .param = 0},          {.kind = SlotKind::stride, .param = 0, .dim = 0},
      {.kind = SlotKind::group, .param = 0, .dim = 1},  {.kind = SlotKind::group, .param = 0, .dim = 0},
      {.kind = SlotKind::pointer, .param = 1},          {.kind = SlotKind::pointer, .param = 4},
      {.kind = SlotKind::extent, .param = 4, .dim = 1}, {.kind = SlotKind::length, .axis = ir::Axis::named("Query")},
      {.kind = SlotKind::scalar, .param = 2},           {.kind = SlotKind::scalar, .param = 3}};
  library::LaunchImage image(artifact, kernel, binding, 0);
  CHECK(image.programs() == 2 * 4 * 2);
  CHECK(parameter<void*>(image, 0) == x);
  CHECK(parameter<std::int64_t>(image, 1) == 200);
  CHECK(parameter<std::int32_t>(image, 2) == 2);  // four query heads over two
  CHECK(parameter<std::int32_t>(image, 3) == 1);
  CHECK(parameter<void*>(image, 4) == y);
  CHECK(parameter<void*>(image, 5) == table);
  CHECK(parameter<std::int32_t>(image, 6) == 3);
  CHECK(parameter<std::int32_t>(image, 7) == 100);
  CHECK(parameter<float>(image, 8) == 0.5f);
  CHECK(parameter<std::int32_t>(image, 9) == -7);

  image.set_pointer(1, other);
  image.set_scalar(3, 12);
  CHECK(parameter<void*>(image, 4) == other);
  CHECK(parameter<void*>(image, 0) == x);
  CHECK(parameter<std::int32_t>(image, 9) == 12);
  CHECK(parameter<float>(image, 8) == 0.5f);
}

TEST_CASE("no rows are no programs") {
  ir::Kernel kernel = elementwise();
  std::int32_t table[6] = {};
  View none = View::contiguous(nullptr, DType::f32, {2, 4, 0});
  ir::Binding binding = ir::bind(kernel, {none, none, 0.5, 1.0, View::contiguous(table, DType::i32, {2, 3})});
  CHECK(library::LaunchImage({}, kernel, binding, 0).programs() == 0);
}
