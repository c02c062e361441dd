// What is refused for the sake of the device or the assembler, told at the user's line, before anything is launched and
// with outputs untouched. On a stand-in driver: a process meets one machine, so each suite is run by a process of its
// own (tests/errors.cmake).
#include "library/device/device_call.h"
#include "support/refusal.h"

#include <algorithm>
#include <cstring>

#include <doctest/doctest.h>

#include <tessera/library/merge.h>
#include <tessera/runtime/driver.h>

using namespace tessera;
using namespace tessera::test;

namespace {

constexpr unsigned char kPoison = 0xA5;

template <class Work>
std::string refusal(const Work& work) {
  return refusal_in(__FILE__, work);
}

// The refusal of a call on the device, which must leave no launch and no byte of O and LSE changed.
std::string refused(Attention& attend, DeviceCall& at) {
  const std::size_t before = runtime::test::state().launches.size();
  for (DeviceTensor* out : {&at.o, &at.lse})
    std::memset(out->buffer.data(), kPoison, static_cast<std::size_t>(out->buffer.bytes()));
  const std::string text = refusal([&] { attend(at.call); });
  CHECK(runtime::test::state().launches.size() == before);
  for (DeviceTensor* out : {&at.o, &at.lse}) {
    const auto* bytes = static_cast<const unsigned char*>(out->buffer.data());
    CHECK(std::all_of(bytes, bytes + out->buffer.bytes(), [](unsigned char byte) { return byte == kPoison; }));
  }
  return text;
}

AttentionShapes shapes() {
  return {.batch = DeviceCall::kBatch,
          .heads = DeviceCall::kHeads,
          .kv_heads = 2,
          .query_length = DeviceCall::kQueries,
          .key_length = DeviceCall::kKeys,
          .lse = true};
}

const char* const kSupported = "supported targets: sm_90a; host views run on the CPU interpreter everywhere";

}  // namespace

TEST_SUITE("good" * doctest::skip()) {
  TEST_CASE("memory that is not where it is said to be") {
    DeviceCall at;
    Attention attend(options());
    std::vector<std::uint16_t> host(static_cast<std::size_t>(at.q.view.elements()) + 8);
    void* aligned = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(host.data()) + 15) / 16 * 16);
    at.call.q.data = aligned;
    CHECK(refused(attend, at) ==
          "error: q is given as device memory, and is host memory that the driver does not know; note: copy it to the "
          "device, or give it as Memory::host");
    at.call.q.data = at.q.view.data;
    at.call.o.data = aligned;
    CHECK(
        refused(attend, at) ==
        "error: o is host memory that the driver does not know, and q is on device 0 (Fake GPU, sm_90); note: put all "
        "tensors of a call on one device");
    const DeviceTensor elsewhere(bf16, at.v.view.shape, 1);
    at.call.o.data = at.o.view.data;
    at.call.v.data = elsewhere.view.data;
    CHECK(refused(attend, at) ==
          "error: v is memory of device 1, and q is on device 0 (Fake GPU, sm_90); note: put all tensors of a call on "
          "one device");
  }

  TEST_CASE("too little memory for a table, and the same call once there is enough") {
    DeviceCall at;
    Attention attend(options(documents(std::vector<std::int32_t>(DeviceCall::kKeys, 0))));
    runtime::test::state().failures["cuMemAlloc"] = 2;
    std::uint64_t used = 0;
    for (auto [address, bytes] : runtime::test::state().allocations) used += bytes;
    CHECK(refused(attend, at) == "error: out of memory on device 0 (Fake GPU, sm_90): 200 bytes were asked for, " +
                                     std::to_string(kDeviceMemory - used) + " of " + std::to_string(kDeviceMemory) +
                                     " are free; note: free memory on the device, or use a smaller problem");
    CHECK(refusal([&] { attend.prepare(shapes()); }).find("error: out of memory on device 0 (Fake GPU, sm_90): ") == 0);
    runtime::test::state().failures.clear();
    CHECK(refusal([&] { attend(at.call); }) == "not refused");
    CHECK(refusal([&] { attend.prepare(shapes()); }) == "not refused");
  }

  TEST_CASE("a driver that refuses the launch") {
    DeviceCall at;
    Attention attend(options());
    attend(at.call);
    runtime::test::state().failures["cuLaunchKernel"] = 719;
    const std::string text = refused(attend, at);
    runtime::test::state().failures.clear();
    CHECK(text.find("error: cuLaunchKernel failed: CUDA_ERROR_LAUNCH_FAILED (719): unspecified launch failure, while "
                    "launching kernel 'forward' on device 0 (Fake GPU, sm_90) with a grid of 8 x 1 x 1, ") == 0);
  }

  TEST_CASE("too many blocks") {
    Attention attend(options());
    DeviceCall at;
    const std::int64_t many = std::int64_t{1} << 31;
    // Inputs that all entries of the batch share, below an output that is as long as it says.
    View* const views[] = {&at.call.q, &at.call.k, &at.call.v, &at.call.o};
    std::vector<void*> addresses;
    for (View* view : views) {
      if (view != &at.call.o) view->strides[0] = 0;
      addresses.push_back(view->data);
    }
    std::sort(addresses.begin(), addresses.end());
    for (std::size_t i = 0; i < addresses.size(); ++i) views[i]->data = addresses[i];
    at.call.lse = {};
    for (View* view : views) view->shape[0] = many;
    CHECK(refused(attend, at) ==
          "error: the shapes are batch 2147483648, heads 4 over 2, 40 queries, 50 keys; note: give sizes from 0 to "
          "2^31 - 1");
    for (View* view : views) view->shape[0] = many / 2;
    CHECK(refused(attend, at) ==
          "error: the number of blocks is 4294967296, above the limit of 2^31 - 1; note: split the call");
  }
}

TEST_SUITE("no_driver" * doctest::skip()) {
  TEST_CASE("views of device memory, where no driver can be opened") {
    REQUIRE(!runtime::driver_missing().empty());
    std::vector<std::uint16_t> memory(2 * 4 * 50 * 64);
    const auto view = [&](std::int64_t heads, std::int64_t length) {
      return View::contiguous(memory.data(), bf16, {2, heads, length, 64}, Memory::device);
    };
    Attention attend(options());
    const std::string text = "error: q is in device memory, and there is no device: " + runtime::driver_missing() +
                             "; note: pass views of host memory to run on the CPU";
    CHECK(refusal([&] { attend({.q = view(4, 40), .k = view(2, 50), .v = view(2, 50), .o = view(4, 40)}); }) == text);
    CHECK(text.find("the NVIDIA driver library cannot be opened: ") != std::string::npos);
    CHECK(std::all_of(memory.begin(), memory.end(), [](std::uint16_t x) { return x == 0; }));
  }

  TEST_CASE("prepare plans without a device, and explain says why there is none") {
    Attention attend(options());
    attend.prepare(shapes());
    CHECK(attend.explain_json().find("no GPU: the NVIDIA driver library cannot be opened: ") != std::string::npos);
  }
}

TEST_SUITE("no_device" * doctest::skip()) {
  TEST_CASE("a driver that sees no device") {
    runtime::test::state().devices = 0;
    Attention attend(options());
    attend.prepare(shapes());
    CHECK(attend.explain_json().find("no GPU: device 0 does not exist: the driver sees 0") != std::string::npos);
    const View empty = View::contiguous(nullptr, bf16, {0, 4, 40, 64}, Memory::device);
    CHECK(
        refusal([&] { attend({.q = empty, .k = empty, .v = empty, .o = empty}); }) ==
        "error: q is in device memory, and there is no device: device 0 does not exist: the driver sees 0; note: pass "
        "views of host memory to run on the CPU");
  }
}

TEST_SUITE("old_device" * doctest::skip()) {
  TEST_CASE("a device that is too old") {
    runtime::test::state().capability = 80;
    DeviceCall at;
    Attention attend(options());
    const std::string cause =
        "target sm_80 is not supported: it has no tensor copies and no warpgroup matrix products, which the generated "
        "kernels use";
    CHECK(refused(attend, at) == "error: " + cause + "; note: supported targets: sm_90a");
    attend.prepare(shapes());
    CHECK(attend.explain_json().find("no GPU: ") != std::string::npos);
    CHECK(attend.explain_json().find(cause) != std::string::npos);
    Attention named({.mask = full, .dtype = bf16, .head_dim = 64, .target = "sm_90a"});
    CHECK(refused(named, at) ==
          "error: target sm_90a does not run on device 0 (Fake GPU, sm_80); note: leave the target "
          "out to compile for the device");
    const Partial part{at.o.view, at.lse.view};
    const DeviceTensor o(bf16, at.o.view.shape), lse(f32, at.lse.view.shape);
    CHECK(refusal([&] { merge({part, part}, {o.view, lse.view}); }) ==
          "error: " + cause + "; note: supported targets: sm_90a");
  }

  TEST_CASE("a device nobody has heard of") {
    runtime::test::state().capability = 123;
    DeviceCall at;
    DeviceTensor probe(bf16, at.q.view.shape, 1);  // the first opening of device 1 reads the capability
    at.call.q.data = probe.view.data;
    Attention attend(options());
    CHECK(refusal([&] { attend(at.call); }) ==
          std::string("error: a device of compute capability 12.3 is not supported; note: ") + kSupported);
  }
}

TEST_SUITE("bad_assembler" * doctest::skip()) {
  TEST_CASE("PTX that does not assemble") {
    DeviceCall at;
    Attention attend(options());
    const std::string text =
        "error: the PTX of kernel 'forward' does not assemble for sm_90a: ptxas 99.9.9 (tests) did not assemble the "
        "PTX (exit code 1):\nptxas kernel.ptx, line 7; error   : Unknown modifier\n; note: use a ptxas of CUDA 12.8 or "
        "newer (TESSERA_PTXAS=path), or the driver (TESSERA_PTXAS=none)";
    CHECK(refused(attend, at) == text);
    CHECK(refused(attend, at) == text);  // a failure is not kept in place of a kernel
    CHECK(refusal([&] { attend.prepare(shapes()); }) == text);
  }
}

TEST_SUITE("no_assembler" * doctest::skip()) {
  TEST_CASE("an assembler that is none") {
    DeviceCall at;
    Attention attend(options());
    const std::string text = refused(attend, at);
    CHECK(text.find("error: /nowhere/ptxas cannot be run (") == 0);
    CHECK(text.find("; note: set TESSERA_PTXAS to another ptxas, or to 'none' for the driver's assembler") !=
          std::string::npos);
  }
}
