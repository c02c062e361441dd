// Attention in token orders on the GPU: tiles of orders of queries and keys, read and written in place, against fp64 on
// sampled rows; and two probes on all rows: COUNT, and values that name their key.
#include <doctest/doctest.h>

#include <tessera/runtime/stream.h>

#include "gpu/device_case.h"
#include "library/order_cases.h"
#include "library/order_programs.h"
#include "support/gpu/graph.h"

using namespace tessera;
using namespace tessera::test;

namespace {

// Grouped heads and several batches, unless a case is large.
Case shaped(int depth, DType dtype, std::size_t layout) {
  Case c{.batch = 2, .heads = 4, .kv_heads = 2, .depth = depth, .dtype = dtype};
  if (layout == 1) c.layout.order = {0, 2, 1, 3};  // tokens outside heads
  if (layout == 2) c.layout.row_padding = 8;
  if (layout == 3) c.layout.order = {1, 2, 0, 3}, c.layout.row_padding = 64;
  return c;
}

std::string name_of(const OrderCase& order, const Case& c, std::size_t layout) {
  return order.name + " " + std::string(name_of(c.dtype)) + " d" + std::to_string(c.depth) + " layout " +
         std::to_string(layout);
}

// Tokens spell their numbers: q and k in signs, so that at a large scale a query whose own key is live sees that key
// alone, and v in bits, beside the head that it belongs to. O then says which row was read, bit for bit.
void check_identity(const OrderCase& order, std::size_t layout) {
  Case c = shaped(64, DType::f16, layout);
  order.apply(c);
  if (c.queries != c.keys || !c.key_lengths.empty()) return;
  CAPTURE(name_of(order, c, layout));
  Tensors t(c);
  t.q.fill(0), t.k.fill(0), t.v.fill(0);
  c.scale = 4096.0;
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t n = 0; n < c.keys; ++n) {
      for (std::int64_t h = 0; h < c.heads; ++h)
        for (int bit = 0; bit < 16; ++bit) t.q.set({b, h, n, bit}, (n >> bit & 1) ? 1 : -1);
      for (std::int64_t h = 0; h < c.kv_heads; ++h)
        for (int bit = 0; bit < 16; ++bit) {
          t.k.set({b, h, n, bit}, (n >> bit & 1) ? 1 : -1);
          t.v.set({b, h, n, bit}, static_cast<double>(n >> bit & 1));
          t.v.set({b, h, n, 16 + bit}, static_cast<double>(b * c.kv_heads + h));
        }
    }
  Attention attend(options_of(c));
  run_on_device(attend, t, c);
  int wrong = 0;
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t h = 0; h < c.heads; ++h)
      for (std::int64_t n = 0; n < c.queries; ++n) {
        const bool live = c.allowed({b, h, n, n});
        for (int bit = 0; bit < 16; ++bit) {
          const double want = static_cast<double>(n >> bit & 1), group = static_cast<double>(b * c.kv_heads + h / 2);
          if (live) wrong += t.o.at({b, h, n, bit}) != want || t.o.at({b, h, n, 16 + bit}) != group;
        }
      }
  CHECK(wrong == 0);
  CHECK(t.o.guards_intact());
}

}  // namespace

TEST_CASE("every order against fp64: head dims, dtypes and layouts in turn") {
  std::size_t turn = 0;
  for (const OrderCase& order : order_cases())
    for (int depth : {64, 128, 40}) {
      const std::size_t layout = turn % 4;
      Case c = shaped(depth, turn++ % 2 ? DType::f16 : DType::bf16, layout);
      order.apply(c);
      if (c.queries > 4096) c.batch = 1, c.heads = 2, c.kv_heads = 1;
      check_sampled(c, name_of(order, c, layout), c.queries > 4096 ? 24 : 64);
    }
}

TEST_CASE("COUNT probe: every order, every layout, all rows") {
  for (const OrderCase& order : order_cases())
    for (std::size_t layout : {0u, 1u, 3u}) {
      Case c = shaped(64, DType::bf16, layout);
      order.apply(c);
      if (c.queries > 4096) c.batch = 1, c.heads = 1, c.kv_heads = 1;
      check_counts(c, name_of(order, c, layout), run_on_device);
    }
}

TEST_CASE("every query finds itself among its keys, and writes where it was read") {
  for (const OrderCase& order : order_cases())
    for (std::size_t layout : {0u, 1u, 2u, 3u}) check_identity(order, layout);
}

TEST_CASE("schedules: more programs than multiprocessors, one stage, no overlap") {
  for (const OrderCase& order : order_cases())
    for (const backend::Schedule& schedule :
         {backend::Schedule{.stages = 1}, backend::Schedule{.persistent = false, .overlap = false},
          backend::Schedule{.stages = 2, .turns = true, .skip_ones = true}}) {
      Case c = shaped(64, DType::bf16, 0);
      c.batch = 8, c.heads = 8, c.kv_heads = 4;
      order.apply(c);
      if (c.queries > 4096) continue;
      check_sampled(c, name_of(order, c, 0), 8, schedule);
    }
}

TEST_CASE("chains: without an LSE, captured and replayed, on two streams at once") {
  for (const OrderCase& order : order_cases()) {
    if (order.name.find("a chain") != 0) continue;
    CAPTURE(order.name);
    Case c = shaped(64, DType::bf16, 0);
    order.apply(c);
    Attention attend(options_of(c));
    Tensors expected(c), t(c);
    run_on_device(attend, expected, c);
    const DeviceTensors a(t), b(t);
    const runtime::Stream left(test_device()), right(test_device());
    const auto enqueue = [&](const DeviceTensors& to, const runtime::Stream& stream) {
      AttentionCall call = to.call(c);
      call.lse = {};
      call.stream = stream.get();
      attend(call);
    };
    const auto wrong = [&](const DeviceTensors& from) {
      from.download(t);
      const bool same = t.o.values() == expected.o.values();
      t.o.poison();
      return !same;
    };
    for (int n = 0; n < 20; ++n) enqueue(a, left), enqueue(b, right);
    CHECK_FALSE(wrong(a));
    CHECK_FALSE(wrong(b));
    DeviceTensors again(t);
    const Graph graph(left, runtime::cu::CaptureMode::global, [&] { enqueue(again, left); });
    for (int n = 0; n < 3; ++n) {
      again.o.upload(t.o);
      graph.replay(right);
      CHECK_FALSE(wrong(again));
    }
  }
}

TEST_CASE("axial attention at length is a chain that the planner finds, and right on sampled rows") {
  for (int depth : {64, 128}) {
    Case c{.batch = 1, .heads = 16, .kv_heads = 8, .queries = 9216, .keys = 9216, .depth = depth};
    c.query_tile = c.key_tile = 0;
    c.mask = axial(Grid{96, 96});
    c.allowed = [](const Pair& p) { return p.q / 96 == p.k / 96 || p.q % 96 == p.k % 96; };
    Attention attend(options_of(c));
    check_sampled(attend, c, "axial", 24);
    CHECK(attend.explain().find("pass 1") != std::string::npos);
  }
}

TEST_CASE("calls of other lengths make plans of their own") {
  Case c = shaped(64, DType::bf16, 0);
  order_cases()[6].apply(c);  // residues by spans, of any length
  Attention attend(options_of(c));
  for (std::int64_t n : {1000, 1001, 1, 511, 1000, 4003}) {
    c.queries = c.keys = n;
    CAPTURE(n);
    Tensors t(c);
    run_on_device(attend, t, c);
    const Result exact = attention_fp64(t.problem(c));
    const Tolerance allowed = tolerance(t.problem(c), exact);
    CHECK(max_difference(t.o.values(), exact.o) <= allowed.o);
    CHECK(max_difference(t.lse.values(), exact.lse) <= allowed.lse);
  }
}

TEST_CASE("tiles in registers, in every pair of orders") {
  OnDevice on;
  programs::check_weigh(on);
}
