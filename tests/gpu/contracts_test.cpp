// The contracts of a launch: views in place, memory that must not matter, graphs, streams, determinism, refusals.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <latch>
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

// So many programs that every block takes several from the launch.
Case many_programs(std::int64_t n = 260) {
  Case c = causal_case(n);
  c.batch = 8;
  c.heads = 20;
  c.kv_heads = 10;
  REQUIRE(least_programs(c) >= 2 * test_device().info().multiprocessors);
  return c;
}

bool same_bits(const TestTensor& a, const TestTensor& b) {
  const std::vector<double> x = a.values(), y = b.values();
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0;
}

// Launches of one case, each into memory of its own that holds NaN: a program that a launch leaves out is seen, though
// those before and after it computed the same.
class Launches {
 public:
  Launches(const Case& c, int count) : case_(c), poisoned_(c), inputs_(poisoned_) {
    o_.reserve(static_cast<std::size_t>(count));
    lse_.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      o_.emplace_back(poisoned_.o);
      lse_.emplace_back(poisoned_.lse);
    }
  }

  void enqueue(Attention& attend, std::size_t i, const runtime::Stream& stream) const {
    AttentionCall call = inputs_.call(case_);
    call.o = o_[i].view();
    call.lse = lse_[i].view();
    call.stream = stream.get();
    attend(call);
  }
  void enqueue_all(Attention& attend, const runtime::Stream& stream) const {
    for (std::size_t i = 0; i < o_.size(); ++i) enqueue(attend, i, stream);
  }

  void poison() {
    for (DeviceTensor& o : o_) o.upload(poisoned_.o);
    for (DeviceTensor& lse : lse_) lse.upload(poisoned_.lse);
  }

  // How many gave other bits than `expected`, or wrote beyond their tensors. All must have ended.
  int wrong(const Tensors& expected) const {
    TestTensor o(poisoned_.o.dtype(), poisoned_.o.shape()), lse(poisoned_.lse.dtype(), poisoned_.lse.shape());
    const auto same = [](const TestTensor& a, const TestTensor& b) {
      return std::equal(a.memory().begin(), a.memory().end(), b.memory().begin(), b.memory().end());
    };
    int wrong = 0;
    for (std::size_t i = 0; i < o_.size(); ++i) {
      o_[i].download(o);
      lse_[i].download(lse);
      wrong += !same(o, expected.o) || !same(lse, expected.lse);
    }
    return wrong;
  }

 private:
  Case case_;
  Tensors poisoned_;
  DeviceTensors inputs_;
  std::vector<DeviceTensor> o_, lse_;
};

}  // namespace

TEST_CASE("the same inputs give the same bits, 100 times, whoever takes which program") {
  const Case c = many_programs();
  for (const backend::Schedule& schedule :
       {backend::Schedule{}, {.stages = 1, .overlap = false, .turns = true}, {.stages = 3, .turns = false}}) {
    CAPTURE(to_string(schedule));
    AttentionOptions options = options_of(c);
    options.schedule = schedule;
    Attention attend(options);
    Tensors first(c);
    run_on_device(attend, first, c);
    const Launches again(c, 100);
    const runtime::Stream stream(test_device());
    again.enqueue_all(attend, stream);
    stream.synchronize();
    CHECK(again.wrong(first) == 0);
  }
}

TEST_CASE("the same inputs give the same bits, 100 times, under each kind of mask and at each width") {
  for (const std::size_t pattern : {0u, 1u, 3u, 8u}) {  // full, causal, a window, documents
    for (const int depth : {64, 128, 256}) {
      Case c{.batch = 2, .heads = 40, .kv_heads = 20, .queries = 260, .keys = 260, .depth = depth};
      c.query_tile = c.key_tile = 0;
      pattern_cases()[pattern].apply(c);
      REQUIRE(least_programs(c) > test_device().info().multiprocessors);  // blocks take several, in any order
      CAPTURE(pattern_cases()[pattern].name);
      CAPTURE(depth);
      Attention attend(options_of(c));
      Tensors first(c);
      run_on_device(attend, first, c);
      const Launches again(c, 100);
      const runtime::Stream stream(test_device());
      again.enqueue_all(attend, stream);
      stream.synchronize();
      CHECK(again.wrong(first) == 0);
    }
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
  const Case c = many_programs();
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
  for (int n = 0; n < 3; ++n) {
    t.o.poison();
    t.lse.poison();
    device.o.upload(t.o);
    device.lse.upload(t.lse);
    graph.replay(stream);
    device.download(t);
    CHECK(same_bits(t.o, expected.o));
    CHECK(same_bits(t.lse, expected.lse));
  }
}

TEST_CASE("graphs replay beside each other and beside launches on the stream they were captured from (B69, B70)") {
  const Case c = many_programs();
  Tensors expected(c);
  Attention attend(options_of(c));
  run_on_device(attend, expected, c);
  Launches first(c, 20), second(c, 20), launched(c, 40);
  const runtime::Stream captured(test_device()), other(test_device()), third(test_device());
  launched.enqueue(attend, 0, captured);  // prepared
  captured.synchronize();
  const Graph one(captured, runtime::cu::CaptureMode::global, [&] { first.enqueue_all(attend, captured); });
  const Graph two(captured, runtime::cu::CaptureMode::global, [&] { second.enqueue_all(attend, captured); });
  for (int n = 0; n < 5; ++n) {
    for (Launches* launches : {&first, &second, &launched}) launches->poison();
    std::latch start(3);
    std::thread launcher([&] {
      start.arrive_and_wait();
      launched.enqueue_all(attend, captured);
      captured.synchronize();
    });
    std::thread replayer([&] {
      const runtime::ScopedContext current(test_device());
      start.arrive_and_wait();
      two.replay(third);
    });
    start.arrive_and_wait();
    one.replay(other);
    launcher.join();
    replayer.join();
    CHECK(first.wrong(expected) == 0);
    CHECK(second.wrong(expected) == 0);
    CHECK(launched.wrong(expected) == 0);
  }
}

TEST_CASE("launches on two streams, in turns, do not meet (B70)") {
  const Case c = many_programs();
  Tensors expected(c);
  Attention attend(options_of(c));
  run_on_device(attend, expected, c);
  const runtime::Stream left(test_device()), right(test_device());
  const Launches on_left(c, 60), on_right(c, 60);
  for (std::size_t i = 0; i < 60; ++i) {
    on_left.enqueue(attend, i, left);
    on_right.enqueue(attend, i, right);
  }
  left.synchronize();
  right.synchronize();
  CHECK(on_left.wrong(expected) == 0);
  CHECK(on_right.wrong(expected) == 0);
}

TEST_CASE("launches on several streams and threads do not meet (B70)") {
  const Case a = many_programs(260);
  Case b = many_programs(330);
  pattern_cases()[8].apply(b);  // documents: a list in memory
  Attention first(options_of(a)), second(options_of(b));
  Tensors ta(a), tb(b);
  run_on_device(first, ta, a);
  run_on_device(second, tb, b);
  std::vector<Launches> launches;  // two threads share an Attention
  launches.reserve(4);
  for (int i = 0; i < 4; ++i) launches.emplace_back(i % 2 ? b : a, 50);
  std::latch start(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      const runtime::Stream stream(test_device());
      start.arrive_and_wait();
      launches[i].enqueue_all(i % 2 ? second : first, stream);
      stream.synchronize();
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < 4; ++i) CHECK(launches[i].wrong(i % 2 ? tb : ta) == 0);
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
