// Tensor maps of token orders, read as the hardware reads them: every row of every tile comes from its token's place in
// the view, and what is no token is outside of the map.
#include <tessera/library/ordered_view.h>

#include <algorithm>

#include <doctest/doctest.h>

using namespace tessera;
using library::OrderedView;

namespace {

struct Layout {
  const char* name;
  std::vector<std::int64_t> order;  // of batch, head, token in memory, outermost first
  std::int64_t row;                 // elements from one row to the next
};

View view_of(const Layout& layout, std::vector<std::int64_t> shape) {
  View view{nullptr, DType::bf16, shape, {0, 0, 0, 1}, Memory::device};
  std::int64_t stride = layout.row;
  for (std::size_t i = 3; i-- > 0;) {
    const auto dim = static_cast<std::size_t>(layout.order[i]);
    view.strides[dim] = stride;
    stride *= shape[dim];
  }
  return view;
}

ir::Kernel kernel_of() {
  ir::Kernel kernel;
  kernel.params = {{"k", ir::ParamKind::input, DType::bf16, {ir::Axis::named("Key"), ir::Axis::named("Depth")}, 2}};
  return kernel;
}

backend::Slot slot_of(const ir::Order& order, backend::SlotKind kind, int part = -1, bool complete = false) {
  return {.kind = kind,
          .param = 0,
          .dim = part,
          .columns = 64,
          .rows = order.tile(),
          .digits = order.digits,
          .complete = complete};
}

// The tile at `firsts` may be described by a box (backend/ordered_map.h).
bool describable(const ir::Order& order, const std::vector<int>& firsts, std::int64_t length) {
  for (std::size_t i = 0; i < order.digits.size(); ++i) {
    if (!backend::splits_value(order, i)) continue;
    const std::int64_t of = i == 0 ? length : order.digits[i - 1].weight, weight = order.digits[i].weight;
    std::int64_t last = 0;
    for (std::size_t j = i + 1; j < order.digits.size(); ++j)
      last +=
          order.digits[j].weight * (std::min<std::int64_t>(firsts[j] + order.digits[j].tile, order.values(j, 0)) - 1);
    if (firsts[i] + order.digits[i].tile > of / weight && last >= of % weight && of % weight != 0) return false;
  }
  return true;
}

// Byte offset that a box's row is read from; -1 outside of the map.
std::int64_t read(const runtime::TensorView& map, const std::vector<std::int64_t>& at) {
  std::int64_t offset = 0;
  for (int axis = 1; axis < map.rank; ++axis) {
    const std::int64_t c = at[static_cast<std::size_t>(axis)];
    if (c < 0 || c >= map.extents[static_cast<std::size_t>(axis)]) return -1;
    offset += c * map.byte_strides[static_cast<std::size_t>(axis)];
  }
  return offset;
}

struct Counts {
  int tiles = 0, boxes = 0, wrong = 0;
};

Counts check(const ir::Order& order, const View& view) {
  const ir::Kernel kernel = kernel_of();
  const std::int64_t length = view.shape[2];
  const backend::OrderedMap axes = backend::ordered_map(order, 2);
  runtime::TensorView maps[2];
  for (bool complete : {false, true}) {
    maps[complete] = OrderedView(slot_of(order, backend::SlotKind::tensor_map, -1, complete), kernel, view).map();
    runtime::TensorView valid = maps[complete];
    valid.base = 1024;
    runtime::check(valid);
  }
  Counts counts;
  for (std::int64_t tile = 0; tile < order.tiles(length); ++tile) {
    std::vector<int> firsts(order.digits.size());
    std::int64_t rest = tile;
    for (std::size_t i = firsts.size(); i-- > 0;) {
      const std::int64_t along = order.tiles(i, length);
      firsts[i] = static_cast<int>(rest % along) * order.digits[i].tile - order.digits[i].origin;
      rest /= along;
    }
    ++counts.tiles;
    if (!describable(order, firsts, length)) continue;
    ++counts.boxes;
    std::int64_t within = 0;  // tokens before the tile's among those of the first digit's value
    for (std::size_t i = 1; i < firsts.size(); ++i) within += order.digits[i].weight * firsts[i];
    const bool complete = backend::has_two_maps(order) && within >= length % order.digits[0].weight;
    for (std::int64_t b = 0; b < view.shape[0]; ++b)
      for (std::int64_t h = 0; h < view.shape[1]; ++h)
        for (int row = 0; row < order.tile(); ++row) {
          std::vector<std::int64_t> at{0};
          for (std::size_t i : axes.boxes) at.push_back(firsts[i] + order.place(i, row));
          std::vector<std::int64_t> single;
          for (std::size_t i : axes.others) single.push_back(firsts[i]);
          single.insert(single.end(), {h, b});
          if (axes.offsets) {
            std::int64_t offset = 0;
            for (std::size_t i = 0; i < single.size(); ++i)
              offset += single[i] *
                        OrderedView(slot_of(order, backend::SlotKind::multiple, static_cast<int>(i)), kernel, view)
                            .multiple(static_cast<int>(i));
            single = {offset};
          }
          at.insert(at.end(), single.begin(), single.end());
          const std::int64_t want =
              order.exists(firsts, row, length)
                  ? 2 * (b * view.strides[0] + h * view.strides[1] + order.token(firsts, row) * view.strides[2])
                  : -1;
          counts.wrong += read(maps[complete], at) != want;
        }
  }
  return counts;
}

const std::vector<Layout> kLayouts = {{"batch, head, token", {0, 1, 2}, 64},
                                      {"batch, token, head", {0, 2, 1}, 64},
                                      {"padded rows", {0, 1, 2}, 72},
                                      {"token, batch, head", {2, 0, 1}, 200}};

}  // namespace

TEST_CASE("every row of every tile, in every memory layout") {
  struct Row {
    ir::Order order;
    std::vector<std::int64_t> lengths;
    bool always;  // every tile is one box
  };
  const std::vector<Row> rows = {
      {{{{1, 16, 5}}}, {1, 40, 64}, true},
      {{{{4, 8}, {1, 1}}}, {1, 3, 31, 32, 33, 100}, true},
      {{{{128, 16}, {1, 1}}}, {100, 1000, 2048}, true},
      {{{{16, 4}, {1, 8}}}, {256, 16, 128}, true},
      {{{{16, 4}, {1, 8}}}, {250, 3}, false},
      {{{{14, 7, 4}, {1, 7, 4}}}, {196, 98}, true},
      {{{{10, 1}, {1, 4}}}, {95, 40}, false},
      {{{{48, 2}, {8, 3}, {1, 4}}}, {192, 240}, true},
      {{{{48, 2}, {8, 3}, {1, 4}}}, {200}, false},
      {{{{64, 4}, {16, 1}, {2, 4}, {1, 1}}}, {256, 192}, true},
      {{{{20, 3}, {3, 2}, {1, 3}}}, {60, 77}, false},
  };
  for (const Row& row : rows)
    for (std::int64_t length : row.lengths)
      for (const Layout& layout : kLayouts)
        for (std::int64_t heads : {3, 1}) {
          CAPTURE(to_string(row.order));
          CAPTURE(length);
          CAPTURE(layout.name);
          const Counts counts = check(row.order, view_of(layout, {2, heads, length, 64}));
          CHECK(counts.wrong == 0);
          CHECK(counts.boxes <= counts.tiles);
          if (row.always) CHECK(counts.boxes == counts.tiles);
        }
}

TEST_CASE("an empty tensor has an empty map") {
  const ir::Order order{{{16, 4}, {4, 1}, {1, 4}}};
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{2, 2, 0, 64}, {0, 2, 64, 64}, {2, 2, 64, 0}})
    CHECK(OrderedView(slot_of(order, backend::SlotKind::tensor_map), kernel_of(), view_of(kLayouts[0], shape))
              .map()
              .empty());
}
