// Calls after the first one: what they may not take over from it, and what is kept for how long.
#include "library/device/device_call.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include <doctest/doctest.h>

#include <tessera/library/merge.h>

using namespace tessera;
using namespace tessera::test;

namespace {

std::size_t launches() { return runtime::test::state().launches.size(); }

// Refused with this text, and nothing launched.
void check_refused(Attention& attend, const AttentionCall& call, const std::string& text) {
  const std::size_t before = launches();
  std::string said = "accepted";
  try {
    attend(call);
  } catch (const UserError& error) {
    said = error.what();
    CHECK(error.loc().line > 0);
  }
  CHECK(said.substr(said.find("error: ") == std::string::npos ? 0 : said.find("error: ")) == text);
  CHECK(launches() == before);
}

}  // namespace

TEST_CASE("a call of no queries launches nothing, first and later") {
  DeviceCall at;
  for (View* view : {&at.call.q, &at.call.o})
    *view = View::contiguous(view->data, bf16, {2, 4, 0, DeviceCall::kDim}, Memory::device);
  at.call.lse = View::contiguous(at.call.lse.data, f32, {2, 4, 0}, Memory::device);
  Attention attend(options(causal));
  const std::size_t before = launches();
  for (int call = 0; call < 2; ++call) attend(at.call);
  for (View* view : {&at.call.q, &at.call.o, &at.call.lse}) view->data = nullptr;
  attend(at.call);
  CHECK(launches() == before);
}

TEST_CASE("what a first call is refused for, a later one is refused for") {
  DeviceCall at;
  const DeviceTensor elsewhere(bf16, at.k.view.shape, 1), bias(f32, {1, 1, DeviceCall::kQueries, DeviceCall::kKeys});
  AttentionOptions rich = options(window(Param<i32>{"left", 3}, Param<i32>{"right", 0}));
  rich.scores = {dense_bias()};
  Attention attend(rich);
  at.call.params = {{"left", 7}};
  at.call.tables = {{"bias", bias.view}};
  attend(at.call);
  const AttentionCall good = at.call;
  const auto spoiled = [&](auto spoil) {
    AttentionCall call = good;
    spoil(call);
    return call;
  };
  check_refused(attend, spoiled([](auto& c) { c.q.dtype = f16; }),
                "error: q has dtype f16, expected bf16; note: convert q, or make an Attention for f16");
  check_refused(attend, spoiled([](auto& c) { c.k.memory = Memory::host; }),
                "error: k is in host memory and q in device memory; note: put all tensors of a call in one memory");
  check_refused(attend, spoiled([](auto& c) { c.v.data = static_cast<std::byte*>(c.v.data) + 8; }),
                "error: v starts 8 bytes past a multiple of 16; note: start it at a multiple of 8 elements of a "
                "16-byte aligned allocation");
  check_refused(attend, spoiled([](auto& c) { c.lse.data = nullptr; }),
                "error: lse has no memory: its pointer is null and its shape is [2, 4, 40]; note: pass a view of "
                "allocated memory");
  check_refused(attend,
                spoiled([](auto& c) { c.tables[0].data.data = static_cast<std::byte*>(c.tables[0].data.data) + 2; }),
                "error: table 'bias' starts 2 bytes past a multiple of 4; note: start it at a multiple of 1 element of "
                "a 16-byte aligned allocation");
  check_refused(attend, spoiled([](auto& c) { c.params[0].value = 2.5; }),
                "error: 'left' is an i32 scalar, got 2.5; note: pass a whole number that fits 32 bits");
  check_refused(attend, spoiled([](auto& c) { c.params.push_back({"left", 7}); }),
                "error: Param 'left' is given twice; note: give each name once");
  check_refused(attend, spoiled([](auto& c) { c.tables.push_back(c.tables[0]); }),
                "error: table 'bias' is given twice; note: give each name once");
  check_refused(attend, spoiled([](auto& c) { c.params[0].name = "width"; }),
                "error: no mask or score of this Attention reads a Param named 'width'; note: it reads: left, right");
  check_refused(attend, spoiled([&](auto& c) { c.k.data = elsewhere.view.data; }),
                "error: k is memory of device 1, and q is on device 0 (Fake GPU, sm_90); note: put all tensors of a "
                "call on one device");
  const std::size_t before = launches();
  attend(good);
  CHECK(launches() == before + 1);
}

TEST_CASE("a call whose q moved to another device is launched there") {
  DeviceCall at;
  Attention attend(options());
  attend(at.call);
  void* first = runtime::test::state().launches.back().context;
  const DeviceTensor q(bf16, at.q.view.shape, 1), k(bf16, at.k.view.shape, 1), v(bf16, at.v.view.shape, 1),
      o(bf16, at.o.view.shape, 1), lse(f32, at.lse.view.shape, 1);
  attend({.q = q.view, .k = k.view, .v = v.view, .o = o.view, .lse = lse.view});
  CHECK(runtime::test::state().launches.back().context != first);
  attend(at.call);
  CHECK(runtime::test::state().launches.back().context == first);
}

TEST_CASE("each call runs on the stream it names") {
  DeviceCall at;
  Attention attend(options());
  int a = 0, b = 0;
  for (void* stream : {static_cast<void*>(&a), static_cast<void*>(&b), static_cast<void*>(nullptr)}) {
    at.call.stream = stream;
    attend(at.call);
    CHECK(runtime::test::state().launches.back().stream == stream);
  }
}

TEST_CASE("calls with ever new key lengths keep some device memory, not ever more") {
  DeviceCall at;
  Attention attend(options());
  std::vector<std::int32_t> lengths{0, 0};
  at.call.key_lengths = View::contiguous(lengths.data(), i32, {2});
  const auto run = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      lengths = {i % 51, i / 51};
      attend(at.call);
    }
    return runtime::test::state().allocations.size();
  };
  const std::size_t full = run(0, 300);
  CHECK(run(300, 600) == full);
  // Captured graphs read theirs at every replay.
  runtime::test::state().capturing = true;
  const std::size_t captured = run(600, 900);
  runtime::test::state().capturing = false;
  CHECK(captured == full + 299);  // one of those before made room
  CHECK(run(900, 1200) == full + 300);
}

TEST_CASE("threads that share an Attention launch what they asked for") {
  DeviceCall at;
  Attention attend(options(causal));
  const std::size_t before = launches();
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      try {
        DeviceCall own;
        own.call.stream = reinterpret_cast<void*>(static_cast<std::intptr_t>(t + 1));
        for (int i = 0; i < 50; ++i) attend(own.call);
      } catch (...) {
        ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failed == 0);
  CHECK(launches() == before + 200);
}

TEST_CASE("outputs that come to overlap what is read are refused, whichever moved") {
  DeviceCall at;
  Attention attend(options(causal));
  attend(at.call);
  AttentionCall call = at.call;
  call.o.data = call.q.data;
  check_refused(attend, call, "error: o is written, and its memory overlaps that of q; note: give o memory of its own");
  call = at.call;
  call.v.data = call.o.data;
  const std::string text = "error: o is written, and its memory overlaps that of v; note: give o memory of its own";
  check_refused(attend, call, text);
  check_refused(attend, call, text);
  attend(at.call);
}

TEST_CASE("a launch of spans is not reused for scalars that carry sums past i32") {
  DeviceCall at;
  Attention attend(options(window(Param<i32>{"left", 3}, Param<i32>{"right", 0})));
  const auto is_list = [&] { return attend.explain_json().find("\"list_reason\": null") == std::string::npos; };
  for (const double right : {0.0, 2147483647.0, 1.0, 2147483646.0, 1073741824.0}) {
    CAPTURE(right);
    at.call.params = {{"right", right}};
    for (int again : {0, 1}) {
      CAPTURE(again);
      attend(at.call);
      CHECK(is_list() == (right > 0x1p30));
    }
  }
}

TEST_CASE("parts are merged by one kernel, many of them by groups, and no kernel writes what it reads") {
  std::vector<std::unique_ptr<DeviceTensor>> memory;
  const auto part = [&](DType dtype) -> Partial {
    memory.push_back(std::make_unique<DeviceTensor>(dtype, std::vector<std::int64_t>{1, 2, 40, 64}));
    memory.push_back(std::make_unique<DeviceTensor>(f32, std::vector<std::int64_t>{1, 2, 40}));
    return {memory[memory.size() - 2]->view, memory.back()->view};
  };
  const auto first_read = [&](std::size_t launch) {
    return reinterpret_cast<void*>(runtime::test::state().launches[launch].first_parameter);
  };
  struct Merged {
    std::size_t parts, launches;
  };
  for (const auto& [parts, kernels] : {Merged{2, 1}, {3, 1}, {8, 1}, {9, 3}, {16, 3}, {17, 4}, {65, 9 + 2 + 1}}) {
    CAPTURE(parts);
    std::vector<Partial> given;
    for (std::size_t i = 0; i < parts; ++i) given.push_back(part(bf16));
    const std::size_t before = launches();
    const Partial out = part(bf16);
    merge(given, out);
    REQUIRE(launches() == before + kernels);
    CHECK(first_read(before) == given[0].o.data);
    CHECK(first_read(launches() - 1) != out.o.data);
  }
  const Partial running = part(f32), arrived = part(bf16), next = part(f32);
  merge({arrived, running}, next);
  CHECK(first_read(launches() - 1) == running.o.data);  // the kernel has its f32 parts first
}
