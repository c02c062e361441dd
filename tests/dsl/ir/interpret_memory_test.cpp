#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include <tessera/dsl/ir/interpret.h>
#include <tessera/dsl/ir/interpret_memory.h>

using namespace tessera;
using namespace tessera::ir;
using namespace tessera::ir::interp;

namespace {

const Axis kRow = Axis::named("Row"), kColumn = Axis::named("Column");
const std::vector<Axis> kAxes = {kRow, kColumn};

std::vector<float> values_of(const Tile& tile) {
  const Tile packed = tile.packed(tile.dims());
  return {packed.data<float>(), packed.data<float>() + packed.elements()};
}

Tile integers(std::vector<std::int32_t> values, Axis axis) {
  Tile tile(DType::i32, {{axis, static_cast<int>(values.size())}});
  std::copy(values.begin(), values.end(), tile.data<std::int32_t>());
  return tile;
}

// 3 rows of 4 columns, 0 to 11.
struct Matrix {
  std::vector<float> data = std::vector<float>(12);
  View view;
  Matrix() {
    std::iota(data.begin(), data.end(), 0.0f);
    view = View::contiguous(data.data(), DType::f32, {3, 4});
  }
  Place at(std::int64_t row, std::int64_t column) { return {&view, &kAxes, {}, {row, column}, {}, 0}; }
};

}  // namespace

TEST_CASE("a load reads zeros outside the tensor, on every side") {
  Matrix m;
  CHECK(values_of(load(m.at(1, 2), {{kRow, 3}, {kColumn, 3}})) == std::vector<float>{6, 7, 0, 10, 11, 0, 0, 0, 0});
  CHECK(values_of(load(m.at(-1, -2), {{kRow, 2}, {kColumn, 3}})) == std::vector<float>{0, 0, 0, 0, 0, 0});
  CHECK(values_of(load(m.at(-1, -2), {{kRow, 2}, {kColumn, 4}})) == std::vector<float>{0, 0, 0, 0, 0, 0, 0, 1});
  CHECK(values_of(load(m.at(100, 0), {{kRow, 1}, {kColumn, 2}})) == std::vector<float>{0, 0});
  CHECK(values_of(load(m.at(INT32_MIN, INT32_MAX), {{kRow, 1}, {kColumn, 2}})) == std::vector<float>{0, 0});
}

TEST_CASE("a bound hides what lies past it") {
  Matrix m;
  m.data[8] = std::nanf("");
  Place place = m.at(1, 0);
  place.bounded = kRow;
  for (std::int64_t bound : {2, 1, 0, -5, 100}) {
    place.bound = bound;
    const std::vector<float> values = values_of(load(place, {{kRow, 2}, {kColumn, 1}}));
    CHECK(values[0] == (bound >= 2 ? 4 : 0));
    CHECK((bound == 100 ? std::isnan(values[1]) : values[1] == 0));
  }
}

TEST_CASE("tiles may permute or drop the axes of a tensor") {
  Matrix m;
  CHECK(values_of(load(m.at(0, 1), {{kColumn, 2}, {kRow, 3}})) == std::vector<float>{1, 5, 9, 2, 6, 10});
  CHECK(values_of(load(m.at(2, 0), {{kColumn, 4}})) == std::vector<float>{8, 9, 10, 11});
  CHECK(values_of(load(m.at(3, 0), {{kColumn, 4}})) == std::vector<float>{0, 0, 0, 0});
  CHECK(values_of(load(m.at(2, 3), {})) == std::vector<float>{11});
}

TEST_CASE("strides may be zero or negative, and leading dims are picked by index") {
  Matrix m;
  m.view.strides = {0, -1};
  m.view.data = m.data.data() + 3;
  CHECK(values_of(load(m.at(0, 0), {{kRow, 2}, {kColumn, 4}})) == std::vector<float>{3, 2, 1, 0, 3, 2, 1, 0});
  const View cube = View::contiguous(m.data.data(), DType::f32, {3, 2, 2});
  CHECK(values_of(load({&cube, &kAxes, {2}, {0, 0}, {}, 0}, {{kRow, 2}, {kColumn, 2}})) ==
        std::vector<float>{8, 9, 10, 11});
}

TEST_CASE("a store leaves alone what lies outside, and rounds to the tensor's dtype") {
  Matrix m;
  store(m.at(2, 2), Tile::number(DType::f32, -1, {{kColumn, 5}, {kRow, 5}}));
  std::vector<float> wanted(12);
  std::iota(wanted.begin(), wanted.end(), 0.0f);
  wanted[10] = wanted[11] = -1;
  CHECK(m.data == wanted);
  store(m.at(-1, -1), Tile::number(DType::f32, -2, {{kRow, 2}, {kColumn, 2}}));
  wanted[0] = -2;
  CHECK(m.data == wanted);
  store(m.at(3, 0), Tile::number(DType::f32, -3, {{kColumn, 4}}));
  CHECK(m.data == wanted);

  std::uint16_t half[2] = {1, 1};
  const View view = View::contiguous(half, DType::f16, {1, 2});
  store({&view, &kAxes, {}, {0, 0}, {}, 0}, Tile::number(DType::f32, 1 + 0x1.8p-11, {{kRow, 1}, {kColumn, 1}}));
  CHECK(half[0] == 0x3c01);
  CHECK(half[1] == 1);
}

TEST_CASE("integers and truth values go through memory exactly") {
  std::int32_t numbers[2] = {INT32_MAX, 16777217};
  std::uint8_t truths[3] = {0, 1, 7};
  const std::vector<Axis> axes = {kRow};
  View n = View::contiguous(numbers, DType::i32, {2}), t = View::contiguous(truths, DType::i1, {3});
  const Tile loaded = load({&n, &axes, {}, {0}, {}, 0}, {{kRow, 2}});
  CHECK(loaded.data<std::int32_t>()[0] == INT32_MAX);
  CHECK(loaded.data<std::int32_t>()[1] == 16777217);
  store({&n, &axes, {}, {1}, {}, 0}, loaded);
  CHECK(numbers[1] == INT32_MAX);
  const Tile bits = load({&t, &axes, {}, {0}, {}, 0}, {{kRow, 3}});
  CHECK(bits.data<std::int32_t>()[2] == 1);
  store({&t, &axes, {}, {0}, {}, 0}, Tile::number(DType::i1, 1, {{kRow, 2}}));
  CHECK(truths[0] == 1);
  CHECK(truths[2] == 7);
}

TEST_CASE("a gather clamps each index, and an empty table gives 0") {
  Matrix m;
  const Tile rows = integers({-5, 1, 100}, kRow), columns = integers({3, -1}, kColumn);
  const Tile* both[] = {&rows, &columns};
  const Tile found = gather(m.view, both);
  CHECK(found.dims() == std::vector<Dim>{{kRow, 3}, {kColumn, 2}});
  CHECK(values_of(found) == std::vector<float>{3, 0, 7, 4, 11, 8});
  const View empty = View::contiguous(nullptr, DType::f32, {0, 4});
  CHECK(values_of(gather(empty, both)) == std::vector<float>(6, 0.0f));
  const Tile none = Tile::integer(0);
  const Tile* scalars[] = {&none, &none};
  CHECK(gather(m.view, scalars).data<float>()[0] == 0);
}
