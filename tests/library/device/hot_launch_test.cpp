// What a call of a form seen before costs the host: the driver calls it makes, one by one, and no allocation.
#include "library/device/device_call.h"

#include <cstdlib>
#include <new>
#include <optional>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <tessera/library/plan_maker.h>

using namespace tessera;
using namespace tessera::test;

namespace {

thread_local std::int64_t allocations = 0;

void* counted(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}

// The stream is asked who it is, for its counter, in the context that the launch needs.
const DriverCalls kLaunch{{"cuCtxGetCurrent", 2}, {"cuCtxPushCurrent", 1}, {"cuStreamIsCapturing", 1},
                          {"cuStreamGetId", 1},   {"cuLaunchKernel", 1},   {"cuCtxPopCurrent", 1}};
const DriverCalls kLaunchInContext{
    {"cuCtxGetCurrent", 2}, {"cuStreamIsCapturing", 1}, {"cuStreamGetId", 1}, {"cuLaunchKernel", 1}};

DriverCalls plus(DriverCalls calls, const DriverCalls& more) {
  for (const auto& [name, count] : more) calls[name] += count;
  return calls;
}

const DriverCalls kOtherScope{{"cuCtxGetCurrent", 1}, {"cuCtxPushCurrent", 1}, {"cuCtxPopCurrent", 1}};

std::int64_t allocations_of(Attention& attend, const AttentionCall& call) {
  runtime::test::state().recording = false;
  const std::int64_t before = allocations;
  attend(call);
  const std::int64_t after = allocations;
  runtime::test::state().recording = true;
  return after - before;
}

std::string text(const DriverCalls& calls) {
  std::string all;
  for (const auto& [name, count] : calls) all += fmt::format("{} {}; ", name, count);
  return all;
}

// Near keys, then the rest: each with a list.
mask::Plan in_two_passes(const mask::Pointwise& predicate, mask::PlanRequest request) {
  request.allow_spans = false;
  const Mask near = window(3, 0);
  mask::Plan plan;
  for (const mask::Pointwise& part : {near.predicate(), both(predicate, negated(near.predicate()))}) {
    plan.passes.push_back(mask::make_plan(part, request).passes[0]);
    plan.passes.back().sources[0].part = std::make_shared<const mask::Pointwise>(part);
  }
  return plan;
}

#define CHECK_CALLS(given, wanted) CHECK(text(given) == text(wanted))

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t& none) noexcept { return operator new(bytes, none); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE("a call like the one before asks the driver for nothing but the launch") {
  DeviceCall at;
  Attention attend(options(causal));
  attend(at.call);
  CHECK_CALLS(driver_calls([&] { attend(at.call); }), kLaunch);
  const runtime::ScopedContext current(device_at(0));
  CHECK_CALLS(driver_calls([&] { attend(at.call); }), kLaunchInContext);
}

TEST_CASE("an address that changed is asked about, and its tensor map encoded") {
  DeviceCall at;
  const DeviceTensor other_q(bf16, at.q.view.shape), other_k(bf16, at.k.view.shape), other_lse(f32, at.lse.view.shape);
  Attention attend(options(causal));
  attend(at.call);
  const auto moved = [&](View& view, const DeviceTensor& to) {
    view.data = to.view.data;
    return driver_calls([&] { attend(at.call); });
  };
  const DriverCalls asked = plus(plus(kLaunch, kOtherScope), {{"cuPointerGetAttributes", 1}});
  CHECK_CALLS(moved(at.call.lse, other_lse), asked);
  CHECK_CALLS(moved(at.call.k, other_k), plus(asked, {{"cuTensorMapEncodeTiled", 1}}));
  CHECK_CALLS(moved(at.call.q, other_q), plus(asked, {{"cuTensorMapEncodeTiled", 1}}));
  CHECK_CALLS(driver_calls([&] { attend(at.call); }), kLaunch);
}

TEST_CASE("a launch that reads memory of ours asks whether it is captured, until it was") {
  DeviceCall at;
  Attention attend(options(documents(std::vector<std::int32_t>(DeviceCall::kKeys, 0))));
  const runtime::ScopedContext current(device_at(0));
  attend(at.call);
  CHECK_CALLS(driver_calls([&] { attend(at.call); }),
              plus(kLaunchInContext, {{"cuCtxGetCurrent", 1}, {"cuStreamIsCapturing", 1}}));
  runtime::test::state().capturing = true;
  attend(at.call);
  CHECK_CALLS(driver_calls([&] { attend(at.call); }),
              (DriverCalls{{"cuCtxGetCurrent", 2}, {"cuStreamIsCapturing", 1}, {"cuLaunchKernel", 1}}));
  runtime::test::state().capturing = false;
}

TEST_CASE("a chain is two launches, with an allocation of their stream between them where no LSE is asked for") {
  DeviceCall at;
  AttentionOptions two = options(window(9, 0));
  two.plan_maker = std::make_shared<const library::PlanMaker>(library::PlanMaker{in_two_passes});
  Attention attend(two);
  const runtime::ScopedContext current(device_at(0));
  attend(at.call);
  const DriverCalls twice = plus(kLaunchInContext, kLaunchInContext);
  const DriverCalls asks{{"cuCtxGetCurrent", 1}, {"cuStreamIsCapturing", 1}};  // lists are memory of ours
  CHECK_CALLS(driver_calls([&] { attend(at.call); }), plus(twice, asks));
  CHECK(allocations_of(attend, at.call) == 0);

  at.call.lse = {};
  attend(at.call);
  const DriverCalls between{{"cuCtxGetCurrent", 1},
                            {"cuMemAllocAsync", 1},
                            {"cuMemFreeAsync", 1},
                            {"cuCtxPushCurrent", 1},
                            {"cuCtxPopCurrent", 1}};
  CHECK_CALLS(driver_calls([&] { attend(at.call); }), plus(plus(twice, asks), between));

  // The first kernel writes the LSE where the second reads it, and O where the second reads and writes it.
  const DeviceTensor other(bf16, at.o.view.shape);
  at.call.o.data = other.view.data;
  CHECK_CALLS(driver_calls([&] { attend(at.call); }),
              plus(plus(plus(twice, asks), between), {{"cuPointerGetAttributes", 3}, {"cuTensorMapEncodeTiled", 2}}));
}

TEST_CASE("a call of a form seen before allocates nothing, whatever it gives") {
  DeviceCall at;
  const DeviceTensor bias(f32, {1, 1, DeviceCall::kQueries, DeviceCall::kKeys});
  const DeviceTensor other_k(bf16, at.k.view.shape);
  std::vector<std::int32_t> lengths{30, 50};
  AttentionOptions rich = options(window(Param<i32>{"left", 3}, Param<i32>{"right", 0}));
  rich.scores = {dense_bias()};
  Attention attend(rich);
  at.call.params = {{"left", 7}};
  at.call.tables = {{"bias", bias.view}};
  at.call.key_lengths = View::contiguous(lengths.data(), i32, {2});
  attend(at.call);
  attend(at.call);
  CHECK(allocations_of(attend, at.call) == 0);
  at.call.params[0].value = 9;
  CHECK(allocations_of(attend, at.call) == 0);
  at.call.k.data = other_k.view.data;
  CHECK(allocations_of(attend, at.call) == 0);
  lengths[0] = 31;  // another form: what the test counts is there to be counted
  CHECK(allocations_of(attend, at.call) > 0);
}
