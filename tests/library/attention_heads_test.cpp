// Heads, head dims and scales.
#include <cmath>

#include <doctest/doctest.h>

#include "library/attention_case.h"

using namespace tessera;
using namespace tessera::test;

TEST_CASE("query heads share key heads in groups (B46)") {
  for (auto [heads, kv_heads] : {std::pair<std::int64_t, std::int64_t>{12, 2}, {7, 1}, {28, 4}, {5, 5}, {8, 8}}) {
    Case c{.batch = 2, .heads = heads, .kv_heads = kv_heads, .queries = 33, .keys = 40, .depth = 16, .mask = causal};
    c.allowed = [](const Pair& p) { return p.k <= p.q + 7; };
    check_case(c, std::to_string(heads) + " over " + std::to_string(kv_heads));
  }
}

TEST_CASE("the KV head of a query head is its group's, by division (B47)") {
  Case c{.heads = 8, .kv_heads = 2, .queries = 10, .keys = 20, .depth = 16};
  Tensors t(c);
  for (std::int64_t h = 0; h < 2; ++h) {
    for (std::int64_t n = 0; n < 20; ++n) {
      for (std::int64_t d = 0; d < 16; ++d) t.v.set({0, h, n, d}, static_cast<double>(h + 1));
    }
  }
  Attention(options_of(c))(t.call(c));
  for (std::int64_t h = 0; h < 8; ++h) CHECK(t.o.at({0, h, 5, 3}) == (h < 4 ? 1 : 2));
}

TEST_CASE("a mask by head goes by the query head (B47)") {
  Case c{.heads = 4, .kv_heads = 2, .queries = 70, .keys = 70, .depth = 16};
  c.mask = [](Position q, Position k, At at) { return q - k <= 10 * at.head && k <= q; };
  c.allowed = [](const Pair& p) { return p.q - p.k <= 10 * p.head && p.k <= p.q; };
  check_case(c, "window by head");
  c.batch = 2;
  c.mask = [](Position q, Position k, At at) { return k <= q || at.batch == 1; };
  c.allowed = [](const Pair& p) { return p.k <= p.q || p.batch == 1; };
  check_case(c, "mask by batch");
}

TEST_CASE("every head dim that is a multiple of 8, with NaN behind each row (B50, B51)") {
  for (int depth : {8, 24, 40, 72, 80, 96, 120, 160, 192, 256}) {
    Case c{.queries = 40, .keys = 70, .depth = depth, .layout = {.row_padding = 8}};
    check_case(c, "d" + std::to_string(depth));
  }
}

TEST_CASE("value dim differs from head dim (B48, B49)") {
  for (auto [depth, value_depth] : {std::pair{64, 128}, {192, 128}, {64, 32}, {8, 256}}) {
    Case c{.heads = 4, .kv_heads = 2, .queries = 50, .keys = 60, .depth = depth, .value_depth = value_depth};
    check_case(c, std::to_string(depth) + " and " + std::to_string(value_depth));
  }
}

TEST_CASE("scales of any sign") {
  for (double scale : {0.25, 0.0, -0.5, 1.0}) {
    Case c{.queries = 50, .keys = 60, .depth = 16, .scale = scale};
    check_case(c, "scale " + std::to_string(scale));
  }
}
