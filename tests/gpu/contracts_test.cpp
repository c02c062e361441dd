// The contracts of a launch: views in place, memory that must not matter, graphs, streams, determinism, refusals.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <thread>

#include <tessera/runtime/stream.h>

#include "gpu/device_case.h"
#include "gpu/patterns.h"
#include "support/gpu/graph.h"

using namespace tessera;
using namespace tessera::test;

namespace {

Case causal_case(std::int64_t n = 500) {
  Case c{.batch = 2, .heads = 4, .kv_heads = 2, .queries = n, .keys = n, .depth = 64};
  c.query_tile = c.key_tile = 0;
  pattern_cases()[1].apply(c);
  return c;
}

bool same_bits(const TestTensor& a, const TestTensor& b) {
  const std::vector<double> x = a.values(), y = b.values();
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0;
}

}  // namespace

TEST_CASE("the same inputs give the same bits, 100 times") {
  const Case c = causal_case();
  Tensors first(c);
  Attention attend(options_of(c));
  run_on_device(attend, first, c);
  for (int i = 0; i < 100; ++i) {
    Tensors again(c);
    run_on_device(attend, again, c);
    REQUIRE(same_bits(first.o, again.o));
    REQUIRE(same_bits(first.lse, again.lse));
  }
}

TEST_CASE("padded and reordered views give the same bits as contiguous ones (B54, B55, B56)") {
  Case c = causal_case();
  Tensors plain(c);
  Attention attend(options_of(c));
  run_on_device(attend, plain, c);
  for (const TensorOptions& layout : {TensorOptions{.row_padding = 8, .order = {}},
                                      TensorOptions{.order = {0, 2, 1, 3}}, TensorOptions{.order = {1, 0, 2, 3}}}) {
    c.layout = layout;
    Tensors moved(c);
    run_on_device(attend, moved, c);
    CHECK(same_bits(plain.o, moved.o));
    CHECK(same_bits(plain.lse, moved.lse));
    CHECK(moved.o.guards_intact());
  }
  CHECK(attend.compiles() <= 1);
}

TEST_CASE("each batch alone gives what it gives in company (B56)") {
  const Case c = causal_case(130);
  Tensors all(c);
  Attention attend(options_of(c));
  run_on_device(attend, all, c);
  const DeviceTensors device(all);
  for (std::int64_t b = 0; b < c.batch; ++b) {
    AttentionCall call = device.call(c);
    for (View* v : {&call.q, &call.k, &call.v, &call.o, &call.lse}) {
      v->data = static_cast<std::byte*>(v->data) + b * v->strides[0] * bytes_of(v->dtype);
      v->shape[0] = 1;
    }
    attend(call);
  }
  Tensors alone(c);
  device.download(alone);
  CHECK(same_bits(all.o, alone.o));
}

TEST_CASE("a captured launch replays on new contents (B69)") {
  const Case c = causal_case();
  Tensors t(c, 1), other(c, 9), expected(c, 9);
  Attention attend(options_of(c));
  run_on_device(attend, expected, c);

  DeviceTensors device(t);
  const runtime::Stream stream(test_device());
  AttentionCall call = device.call(c);
  call.stream = stream.get();
  attend(call);  // prepared
  stream.synchronize();
  const Graph graph(stream, runtime::cu::CaptureMode::global, [&] { attend(call); });
  device.q.upload(other.q);
  device.k.upload(other.k);
  device.v.upload(other.v);
  device.o.upload(t.o);
  graph.replay(stream);
  device.download(t);
  CHECK(same_bits(t.o, expected.o));
}

TEST_CASE("launches on several streams and threads do not meet (B70)") {
  const Case a = causal_case(300);
  Case b = causal_case(400);
  pattern_cases()[8].apply(b);  // documents: a list in memory
  Attention first(options_of(a)), second(options_of(b));
  Tensors ta(a), tb(b);
  run_on_device(first, ta, a);
  run_on_device(second, tb, b);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      const Case& c = i % 2 ? b : a;
      const runtime::Stream stream(test_device());
      Tensors t(c);
      DeviceTensors device(t);
      AttentionCall call = device.call(c);
      call.stream = stream.get();
      for (int n = 0; n < 50; ++n) (i % 2 ? second : first)(call);
      stream.synchronize();
      device.download(t);
      wrong[static_cast<std::size_t>(i)] = !same_bits(t.o, (i % 2 ? tb : ta).o);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}

TEST_CASE("more than 2^31 elements (B52)") {
  const std::int64_t batch = 16400, heads = 16, tokens = 64, dim = 128, elements = batch * heads * tokens * dim;
  runtime::DeviceBuffer q(test_device(), elements * 2), kv(test_device(), elements * 2), o(test_device(), elements * 2);
  runtime::fill(test_device(), q.address(), 0, q.bytes());
  runtime::fill(test_device(), o.address(), 0xff, o.bytes());
  runtime::fill(test_device(), kv.address(), 0, kv.bytes());
  // The last head's values are 1, those of all others 0.
  const std::vector<std::uint16_t> ones(static_cast<std::size_t>(tokens * dim), 0x3f80);
  runtime::copy_to_device(test_device(), kv.address() + static_cast<std::uint64_t>(elements - tokens * dim) * 2,
                          ones.data(), tokens * dim * 2);
  const auto view = [&](const runtime::DeviceBuffer& b) {
    return View::contiguous(b.data(), DType::bf16, {batch, heads, tokens, dim}, Memory::device);
  };
  Attention attend({.dtype = bf16, .head_dim = static_cast<int>(dim)});
  attend({.q = view(q), .k = view(kv), .v = view(kv), .o = view(o)});
  test_device().synchronize();
  std::vector<std::uint16_t> row(static_cast<std::size_t>(dim));
  for (std::int64_t at :
       {std::int64_t{0}, batch / 2 * heads * tokens * dim, elements - 2 * tokens * dim, elements - dim}) {
    runtime::copy_to_host(test_device(), row.data(), o.address() + static_cast<std::uint64_t>(at) * 2, dim * 2);
    CHECK(row == std::vector<std::uint16_t>(static_cast<std::size_t>(dim), at == elements - dim ? 0x3f80 : 0));
  }
}

TEST_CASE("misaligned views are refused before anything is written (B53)") {
  Case c = causal_case(64);
  Tensors t(c);
  DeviceTensors device(t);
  Attention attend(options_of(c));
  AttentionCall call = device.call(c);
  call.q.data = static_cast<std::byte*>(call.q.data) + 2;
  CHECK_THROWS_WITH_AS(attend(call), doctest::Contains("16"), UserError);
  call = device.call(c);
  call.k.strides[2] += 1;
  CHECK_THROWS_WITH_AS(attend(call), doctest::Contains("16"), UserError);
  device.download(t);
  for (double x : t.o.values()) REQUIRE(std::isnan(x));
}
