// The contracts of an attention call, on the CPU: what every row gets, what memory may hold, what may be strided.
#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "library/attention_case.h"

using namespace tessera;
using namespace tessera::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Case causal_case(std::int64_t queries, std::int64_t keys, int depth = 16) {
  Case c{.queries = queries, .keys = keys, .depth = depth, .mask = causal};
  c.allowed = [=](const Pair& p) { return p.k <= p.q + keys - queries; };
  return c;
}

}  // namespace

TEST_CASE("a row without a live key has O = 0 and LSE = -inf, the others are untouched by it (B01)") {
  Case c{.heads = 2, .kv_heads = 2, .queries = 128, .keys = 128};
  c.mask = [](Position q, Position) { return q != 0 && q != 63 && q != 127; };
  c.allowed = [](const Pair& p) { return p.q != 0 && p.q != 63 && p.q != 127; };
  check_case(c, "three empty rows");
  c.mask = [](Position, Position k) { return k < 0; };
  c.allowed = [](const Pair&) { return false; };
  check_case(c, "no live pair at all");
}

TEST_CASE("tile rows without a tile, among others with one (B06, B07)") {
  Case c{.queries = 500, .keys = 256, .depth = 16};
  c.mask = [](Position q, Position k) { return q / 64 % 2 == 1 && k < 200; };
  c.allowed = [](const Pair& p) { return p.q / 64 % 2 == 1 && p.k < 200; };
  check_case(c, "alternating");
  c.mask = [](Position q, Position) { return q < 448; };
  c.allowed = [](const Pair& p) { return p.q < 448; };
  check_case(c, "last, partial tile row empty");
}

TEST_CASE("no keys, no queries, one of each (B04, B11)") {
  Case none{.queries = 70, .keys = 0, .depth = 16};
  Tensors t(none);
  Attention attend(options_of(none));
  attend(t.call(none));
  for (double x : t.o.values()) CHECK(x == 0);
  for (double x : t.lse.values()) CHECK(x == -kInfinity);
  CHECK(t.o.guards_intact());

  Case no_queries{.queries = 0, .keys = 70, .depth = 16};
  Tensors u(no_queries);
  Attention(options_of(no_queries))(u.call(no_queries));
  CHECK(u.o.guards_intact());

  Case one{.queries = 1, .keys = 1, .depth = 16, .dtype = DType::f16, .input_scale = 3};
  Tensors w(one);
  Attention(options_of(one))(w.call(one));
  CHECK(max_difference(w.o.values(), w.v.values()) == 0);
  check_case(one, "one query, one key");
}

// Packed strides of an empty shape are 0 in front of the empty dim.
TEST_CASE("calls of no queries, heads or sequences, whose packed strides are 0") {
  struct Sizes {
    std::int64_t batch, heads, queries;
  };
  for (const Sizes& s : {Sizes{1, 2, 0}, {3, 2, 0}, {2, 0, 70}, {0, 2, 70}}) {
    CAPTURE(s.batch);
    CAPTURE(s.heads);
    alignas(16) std::uint16_t memory[64] = {};
    const auto view = [&](DType dtype, std::vector<std::int64_t> shape) {
      return View::contiguous(memory, dtype, std::move(shape));
    };
    const std::vector<std::int64_t> q_shape{s.batch, s.heads, s.queries, 16}, k_shape{s.batch, s.heads, 0, 16};
    Attention attend({.mask = causal, .head_dim = 16});
    attend({.q = view(bf16, q_shape),
            .k = view(bf16, k_shape),
            .v = view(bf16, k_shape),
            .o = view(bf16, q_shape),
            .lse = view(f32, {s.batch, s.heads, s.queries})});
    CHECK(std::count(std::begin(memory), std::end(memory), 0) == 64);
  }
}

TEST_CASE("lengths that no tile divides (B10, B14, B15, B19)") {
  for (std::int64_t n : {1, 9, 63, 64, 65, 127, 129, 191, 200}) {
    check_case(causal_case(n, n), "causal " + std::to_string(n));
    Case c{.queries = n, .keys = n, .depth = 24};
    check_case(c, "full " + std::to_string(n));
  }
}

TEST_CASE("one query over every number of keys, in transposed storage (B12, B13)") {
  for (std::int64_t keys : {1, 7, 63, 64, 65, 120, 128, 193, 260}) {
    Case c{.heads = 2, .kv_heads = 2, .queries = 1, .keys = keys, .depth = 16};
    c.layout.order = {0, 2, 1, 3};
    c.layout.row_padding = 8;
    check_case(c, std::to_string(keys) + " keys");
    check_counts(c, std::to_string(keys) + " keys");
  }
}

TEST_CASE("Nq and Nk differ") {
  for (auto [queries, keys] : {std::pair<std::int64_t, std::int64_t>{100, 51}, {51, 100}, {1, 130}, {130, 1}}) {
    check_case(causal_case(queries, keys), std::to_string(queries) + " x " + std::to_string(keys));
  }
}

TEST_CASE("strided and padded views give the bits of contiguous ones, call after call (B54, B55, B56)") {
  Case c = causal_case(100, 100, 24);
  c.batch = 3;
  c.heads = 4;
  c.kv_heads = 2;
  Tensors packed(c);
  Attention attend(options_of(c));
  attend(packed.call(c));
  for (const std::vector<int>& order : {std::vector<int>{0, 1, 2, 3}, {0, 2, 1, 3}, {2, 0, 1, 3}, {1, 0, 2, 3}}) {
    Case strided = c;
    strided.layout = {.row_padding = 8, .guard_rows = 3, .order = order};
    Tensors t(strided);
    for (int repeat = 0; repeat < 2; ++repeat) attend(t.call(strided));
    CHECK(max_difference(packed.o.values(), t.o.values()) == 0);
    CHECK(max_difference(packed.lse.values(), t.lse.values()) == 0);
    CHECK(t.o.guards_intact());
    attend(packed.call(c));
  }
}

TEST_CASE("each batch is what it would be alone (B56)") {
  Case c = causal_case(70, 70);
  c.batch = 3;
  Tensors all(c);
  Attention attend(options_of(c));
  attend(all.call(c));
  for (std::int64_t b = 0; b < 3; ++b) {
    AttentionCall one = all.call(c);
    TestTensor o(c.dtype, {1, 1, 70, 16});
    for (View* view : {&one.q, &one.k, &one.v, &one.lse}) {
      view->data = static_cast<std::byte*>(view->data) + b * view->strides[0] * bytes_of(view->dtype);
      view->shape[0] = 1;
    }
    one.o = o.view();
    attend(one);
    double worst = 0;
    for (std::int64_t q = 0; q < 70; ++q) {
      for (std::int64_t d = 0; d < 16; ++d)
        worst = std::max<double>(worst, std::abs(o.at({0, 0, q, d}) - all.o.at({b, 0, q, d})));
    }
    CHECK(worst == 0);
  }
}

TEST_CASE("key lengths: NaN past the end reaches nothing, and a length may be 0 or all (B20, B58)") {
  Case c{.batch = 4, .heads = 2, .kv_heads = 1, .queries = 70, .keys = 140, .depth = 16};
  c.key_lengths = {101, 0, 140, 1};
  check_case(c, "full");
  check_counts(c, "full");
  c.mask = window(30, 0, Align::top_left);
  c.allowed = [](const Pair& p) { return p.k <= p.q && p.q - p.k <= 30; };
  check_case(c, "window");
  std::vector<std::int32_t> ids = document_ids({60, 80});
  c.mask = [table = Table<i32>(ids)](Position q, Position k) { return table[q] == table[k]; };
  c.allowed = [ids](const Pair& p) { return ids[p.q] == ids[p.k]; };
  check_case(c, "documents: a list");
}

TEST_CASE("key lengths cut keys off, they do not move the mask") {
  Case c{.batch = 3, .queries = 40, .keys = 130, .depth = 16, .mask = causal};
  c.key_lengths = {130, 95, 40};
  c.allowed = [](const Pair& p) { return p.k <= p.q + 90; };
  check_case(c, "bottom-right");
  check_counts(c, "bottom-right");
}

TEST_CASE("the LSE is optional, and asking for it changes no bit of the output") {
  Case c = causal_case(90, 90);
  Tensors with(c), without(c);
  AttentionCall call = without.call(c);
  call.lse = {};
  Attention attend(options_of(c));
  attend(with.call(c));
  attend(call);
  CHECK(max_difference(with.o.values(), without.o.values()) == 0);
}

TEST_CASE("large inputs stay finite (B61)") {
  for (double scale : {1, 10, 30}) {
    Case c = causal_case(130, 130, 64);
    c.input_scale = scale;
    check_case(c, "bf16 inputs times " + std::to_string(scale));
    c.dtype = DType::f16;
    check_case(c, "f16 inputs times " + std::to_string(scale));
  }
}

TEST_CASE("one object, many shapes: nothing is left over from the last call (B36, B41)") {
  Mask lagged = [](Position q, Position k, At at) { return k <= q + (at.key_length - at.query_length); };
  Case c{.depth = 16, .mask = lagged};
  Attention attend(options_of(c));
  for (auto [queries, keys] :
       {std::pair<std::int64_t, std::int64_t>{64, 64}, {32, 96}, {1, 257}, {64, 64}, {200, 20}}) {
    c.queries = queries;
    c.keys = keys;
    c.allowed = [shift = keys - queries](const Pair& p) { return p.k <= p.q + shift; };
    Tensors t(c);
    attend(t.call(c));
    Result exact = attention_fp64(t.problem(c));
    Tolerance allowed = tolerance(t.problem(c), exact);
    CHECK(max_difference(t.o.values(), exact.o) <= allowed.o);
    CHECK(max_difference(t.lse.values(), exact.lse) <= allowed.lse);
  }
}

TEST_CASE("widths that carry sums past i32 are planned anew, and those after them are not") {
  Case c{.queries = 150, .keys = 150, .depth = 16, .mask = window(Param<i32>{"left", 10}, Param<i32>{"right", 0})};
  Attention attend(options_of(c));
  const double most = std::numeric_limits<std::int32_t>::max();
  for (double right : {0.0, most, most - 1, 0x1p30, 7.0, most - 75, most - 149, -5.0}) {
    CAPTURE(right);
    c.params = {{"right", right}};
    Tensors one(c), other(c);
    attend(one.call(c));
    Attention fresh(options_of(c));
    fresh(other.call(c));
    CHECK(one.o.values() == other.o.values());
    CHECK(one.lse.values() == other.lse.values());
    CHECK(attend.explain_json().find("\"passes\"") != std::string::npos);
    const bool list = fresh.explain_json().find("\"list_reason\": null") == std::string::npos;
    CHECK((attend.explain_json().find("\"list_reason\": null") == std::string::npos) == list);
    CHECK(list == (right > 0x1p30));
  }
}

TEST_CASE("run-time widths are those of each call, not of the plan (B68)") {
  Case c{.queries = 150, .keys = 150, .depth = 16, .mask = window(Param<i32>{"left", 10}, Param<i32>{"right", 0})};
  Attention attend(options_of(c));
  for (int left : {10, 0, 149, 63, 64}) {
    c.params = {{"left", static_cast<double>(left)}};
    c.allowed = [=](const Pair& p) { return p.k <= p.q && p.q - p.k <= left; };
    Tensors t(c);
    attend(t.call(c));
    Result exact = attention_fp64(t.problem(c));
    CHECK(max_difference(t.o.values(), exact.o) <= tolerance(t.problem(c), exact).o);
  }
}
