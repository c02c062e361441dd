// Devices, memory, streams, modules and launches over the stand-in driver (tests/runtime/fake): failures and their texts,
// and that every call leaves the current context and the driver's books as they were.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <functional>
#include <thread>

#include <tessera/runtime/environment.h>
#include <tessera/runtime/memory.h>
#include <tessera/runtime/program.h>
#include <tessera/runtime/stream.h>
#include <tessera/runtime/tensor_map.h>

#include "runtime/fake/driver.h"
#include "runtime/kernels.h"

using namespace tessera::runtime;

namespace {

// TESSERA_CUDA_DRIVER names the stand-in (tests/runtime.cmake), so this is the copy that driver() uses.
template <class F>
F* in_library(const char* name) {
  static void* library = dlopen(environment(variable::cuda_driver).value_or("").c_str(), RTLD_NOW);
  REQUIRE(library);
  return reinterpret_cast<F*>(dlsym(library, name));
}

fake::State& state() { return *in_library<decltype(tessera_fake_state)>("tessera_fake_state")(); }
std::vector<void*>& contexts() { return *in_library<decltype(tessera_fake_contexts)>("tessera_fake_contexts")(); }

// A fresh state for a test; afterwards nothing may be left of what it did.
struct Books {
  Books() { state() = {}; }
  ~Books() {
    CHECK(contexts().empty());
    CHECK(state().allocations.empty());
    CHECK(state().streams == 0);
    CHECK(state().events == 0);
    CHECK(state().modules == 0);
    CHECK(state().relaxed_captures == 0);
    for (auto [device, count] : state().retained) CHECK(count == 0);
  }
};

std::string library() { return environment(variable::cuda_driver).value_or(""); }

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

Image ptx(const std::string& text) {
  Image image;
  image.kind = Image::Kind::ptx;
  image.bytes = text;
  return image;
}

}  // namespace

TEST_CASE("a driver without devices, too old, or incomplete says so") {
  Books books;
  state().init_result = 100;
  CHECK(refusal([] { Driver driver(library()); }) ==
        "cuInit failed: CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected; note: run on a machine with an "
        "NVIDIA GPU, or on the CPU");
  state().init_result = 999;
  CHECK(
      refusal([] { Driver driver(library()); }) ==
      "cuInit failed: unknown error (999): the driver has no text for it; note: check that nvidia-smi works, or run on "
      "the CPU");
  state() = {};
  state().version = 11080;
  CHECK(
      refusal([] { Driver driver(library()); }) ==
      "the NVIDIA driver is for CUDA 11.8, older than CUDA 12.0; note: update NVIDIA's driver to one for CUDA 12.0 or "
      "newer");
  state() = {};
  state().missing = "cuTensorMapEncodeTiled";
  CHECK(
      refusal([] { Driver driver(library()); }) ==
      "the NVIDIA driver has no cuTensorMapEncodeTiled of CUDA 12.0; note: update NVIDIA's driver to one for CUDA 12.0 "
      "or newer");
  state() = {};
  CHECK(refusal([] { CHECK(Driver(library()).version() == 13000); }) == "accepted");
}

TEST_CASE("a failed call names itself, the driver's code, its name and its text") {
  Books books;
  try {
    driver().mem_free(1);
    FAIL("freed");
  } catch (const DriverError& error) {
    CHECK(std::string(error.call()) == "cuMemFree");
    CHECK(static_cast<int>(error.code()) == 201);
  }
  state().failures["cuCtxSynchronize"] = 719;
  Device device = Device::open(0);
  CHECK(refusal([&] { device.synchronize(); }) ==
        "cuCtxSynchronize failed: CUDA_ERROR_LAUNCH_FAILED (719): unspecified launch failure");
}

TEST_CASE("a device says what it has, and is retained once however many copies there are") {
  Books books;
  CHECK(device_count() == 2);
  {
    Device device = Device::open(1), same = Device::open(1), copy = device;
    CHECK(device == same);
    CHECK(state().retained[1] == 1);
    CHECK(state().retained[0] == 0);
    const DeviceInfo& info = device.info();
    CHECK(info.text() == "device 1 (Fake GPU, sm_90)");
    CHECK(info.multiprocessors == 132);
    CHECK(info.shared_bytes == 232448);
    CHECK(info.memory_bytes == 1 << 20);
    CHECK(info.memory_pools);
  }
  CHECK(state().retained[1] == 0);
}

TEST_CASE("a device that does not exist is refused with the number there are") {
  Books books;
  CHECK(refusal([] { Device::open(2); }) ==
        "device 2 does not exist: the driver sees 2; note: use a device from 0 to 1");
  CHECK(refusal([] { Device::open(-1); }) ==
        "device -1 does not exist: the driver sees 2; note: use a device from 0 to 1");
  state().devices = 0;
  CHECK(refusal([] { Device::open(0); }) == "device 0 does not exist: the driver sees 0; note: run on the CPU");
}

TEST_CASE("a device whose context can't be set up is released again") {
  Books books;
  state().failures["cuMemAlloc"] = 2;
  CHECK(refusal([] { Device::open(0); }) == "cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
}

TEST_CASE("the context that was current is current after any call, also after a failure") {
  Books books;
  Device first = Device::open(0), second = Device::open(1);
  ScopedContext current(first);
  const std::vector<void*> before = contexts();
  CHECK(before == std::vector<void*>{first.context()});
  {
    DeviceBuffer buffer(second, 16);
    Stream stream(second);
    Event event(second);
    event.record(stream.get());
    fill(second, buffer.address(), 1, 16);
    Program program(ptx("good"), "add", 0);
    program.on(second).launch({}, nullptr, stream.get());
    CHECK(state().launches.back().context == second.context());
    CHECK(refusal([&] { DeviceBuffer too_large(second, 1 << 30); }) != "accepted");
    CHECK(device_of_stream(stream.get()) == 1);
    CHECK(contexts() == before);
  }
  CHECK(contexts() == before);
}

TEST_CASE("a thread without a current context works, and has none afterwards") {
  Books books;
  Device device = Device::open(0);
  std::thread([&] {
    DeviceBuffer buffer(device, 16);
    CHECK(contexts().empty());
    CHECK(device_of_stream(nullptr) == -1);
  }).join();
  CHECK(state().allocations.size() == 1);  // the device's zeros
}

TEST_CASE("memory goes up, is filled, moves and comes down") {
  Books books;
  Device device = Device::open(0);
  DeviceBuffer a(device, 8), b(device, 8);
  std::uint64_t value = 0x0123456789abcdef, back = 0;
  copy_to_device(device, a.address(), &value, 8);
  copy_on_device(device, b.address(), a.address(), 8, nullptr);
  fill(device, b.address(), 0xff, 2);
  copy_to_host(device, &back, b.address(), 8);
  CHECK(back == 0x0123456789abffff);
  copy_to_host(device, nullptr, 0, 0);
  CHECK(refusal([&] { copy_to_host(device, &back, b.address(), -1); }) ==
        "-1 bytes were to be copied; note: give a size of 0 or more");
}

TEST_CASE("a device's zeros are zeros") {
  Books books;
  Device device = Device::open(0);
  std::string bytes(256, 'x');
  copy_to_host(device, bytes.data(), device.zeros(), 256);
  CHECK(bytes == std::string(256, '\0'));
}

TEST_CASE("buffers own their memory through moves; no bytes are no memory") {
  Books books;
  Device device = Device::open(0);
  DeviceBuffer empty(device, 0);
  CHECK(empty.address() == 0);
  DeviceBuffer buffer(device, 100);
  const std::uint64_t address = buffer.address();
  DeviceBuffer moved = std::move(buffer);
  CHECK(moved.address() == address);
  CHECK(moved.bytes() == 100);
  CHECK(buffer.address() == 0);
  buffer = std::move(moved);
  CHECK(buffer.address() == address);
  CHECK(state().allocations.size() == 2);
  CHECK(refusal([&] { DeviceBuffer negative(device, -8); }) ==
        "a buffer of -8 bytes was asked for; note: give a size of 0 or more");
}

TEST_CASE("out of memory has the bytes asked for and the bytes free") {
  Books books;
  Device device = Device::open(0);
  DeviceBuffer most(device, (1 << 20) - 256 - 1000);
  const std::string text =
      "out of memory on device 0 (Fake GPU, sm_90): 5000000000 bytes were asked for, 1000 of 1048576 are free; note: "
      "free "
      "memory on the device, or use a smaller problem";
  CHECK(refusal([&] { DeviceBuffer(device, 5'000'000'000); }) == text);
  CHECK(refusal([&] { DeviceBuffer(device, 5'000'000'000, nullptr); }) == text);
  CHECK_THROWS_AS(DeviceBuffer(device, 1001), OutOfMemory);
  CHECK_NOTHROW(DeviceBuffer(device, 1000));
}

TEST_CASE("stream-ordered memory uses pools only where the device has them") {
  Books books;
  {
    Device device = Device::open(0);
    DeviceBuffer buffer(device, 16, nullptr);
  }
  CHECK(state().calls["cuMemAllocAsync"] == 1);
  CHECK(state().calls["cuMemFreeAsync"] == 1);
  state() = {};
  state().memory_pools = false;
  {
    Device device = Device::open(0);
    DeviceBuffer buffer(device, 16, nullptr);
  }
  CHECK(state().calls["cuMemAllocAsync"] == 0);
  CHECK(state().calls["cuMemAlloc"] == 2);
  CHECK(state().calls["cuMemFree"] == 2);
}

TEST_CASE("pointers are known by their memory") {
  Books books;
  Device device = Device::open(0);
  DeviceBuffer buffer(device, 64);
  const PointerInfo inside = describe_pointer(buffer.address() + 63);
  CHECK(inside.memory == PointerInfo::Memory::device);
  CHECK(inside.ordinal == 0);
  CHECK(inside.accessible_from(0));
  CHECK(!inside.accessible_from(1));
  CHECK(to_string(inside) == "memory of device 0");
  int local = 0;
  const PointerInfo host = describe_pointer(&local);
  CHECK(host.memory == PointerInfo::Memory::unknown);
  CHECK(host.ordinal == -1);
  CHECK(!host.accessible_from(0));
  CHECK(to_string(host) == "host memory that the driver does not know");
}

TEST_CASE("a user's stream stays the user's") {
  Books books;
  Device device = Device::open(0);
  Stream own(device);
  {
    Stream borrowed = Stream::borrow(device, own.get());
    CHECK(borrowed.get() == own.get());
    Stream moved = std::move(borrowed);
    CHECK(moved.get() == own.get());
  }
  CHECK(state().streams == 1);
  CHECK(!own.capturing());
  state().capturing = true;
  CHECK(own.capturing());
}

TEST_CASE("a program is loaded once per device, by whichever thread comes first") {
  Books books;
  Device first = Device::open(0), second = Device::open(1);
  Program program(ptx("good"), "add", 1000);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&, i] { program.on(i % 2 ? first : second); });
  for (std::thread& thread : threads) thread.join();
  CHECK(state().modules == 2);
  CHECK(state().calls["cuModuleLoadDataEx"] == 2);
  CHECK(state().dynamic_shared["add"] == 1000);
  CHECK(&program.on(first) == &program.on(first));
  CHECK(program.on(second).device() == second);
  CHECK(program.on(first).attributes().registers == 9);
  CHECK(program.report_on(first).find("add")->registers == 9);
}

TEST_CASE("loading works while a stream is captured") {
  Books books;
  Device device = Device::open(0);
  Module::load(device, ptx("good"));
  CHECK(state().loads_in_relaxed_mode == 1);
}

TEST_CASE("PTX that the driver does not assemble is an error with its log") {
  Books books;
  Device device = Device::open(0);
  CHECK(refusal([&] { Module::load(device, ptx("bad")); }) ==
        "driver CUDA 13.0 did not assemble the PTX (cuModuleLoadDataEx failed: CUDA_ERROR_INVALID_PTX (218): a PTX JIT "
        "compilation failed):\nptxas fatal : bad\n");
  CHECK_THROWS_AS(Module::load(device, ptx("bad")), AssemblyError);
}

TEST_CASE("a cubin that does not load, a kernel that is not there, too much shared memory") {
  Books books;
  Device device = Device::open(0);
  Image cubin;
  cubin.bytes = "bad";
  CHECK(
      refusal([&] { Module::load(device, cubin); }) ==
      "cuModuleLoadDataEx failed: CUDA_ERROR_INVALID_PTX (218): a PTX JIT compilation failed, while loading a cubin on "
      "device 0 (Fake GPU, sm_90); note: check that the kernel was compiled for this device");
  const Module module = Module::load(device, ptx("good"));
  CHECK(refusal([&] { module.function("other"); }) ==
        "cuModuleGetFunction failed: CUDA_ERROR_NOT_FOUND (500): named symbol not found, while looking for kernel "
        "'other'");
  CHECK(refusal([&] { module.function("add").allow_shared(300000); }) ==
        "kernel 'add' needs 300000 bytes of shared memory in a block; device 0 (Fake GPU, sm_90) has 231424; note: use "
        "smaller tiles or fewer pipeline stages");
  CHECK(refusal([&] { module.function("add").allow_shared(231424); }) == "accepted");
}

TEST_CASE("a function keeps its module loaded") {
  Books books;
  Device device = Device::open(0);
  {
    const Function function = Module::load(device, ptx("good")).function("add");
    CHECK(state().modules == 1);
  }
  CHECK(state().modules == 0);
}

TEST_CASE("a launch passes on its shape, parameters and stream, and does nothing else") {
  Books books;
  Device device = Device::open(0);
  Stream stream(device);
  Program program(ptx("good"), "add", 2000);
  const Function& function = program.on(device);
  std::uint64_t value = 42;
  void* parameters[] = {&value};
  state().calls.clear();
  function.launch({.grid = {7, 8, 9}, .block = {384, 1, 1}, .shared_bytes = 2000}, parameters, stream.get());
  REQUIRE(state().launches.size() == 1);
  const fake::Launch& launch = state().launches[0];
  CHECK(launch.kernel == "add");
  CHECK(launch.grid[0] == 7);
  CHECK(launch.grid[2] == 9);
  CHECK(launch.block[0] == 384);
  CHECK(launch.shared_bytes == 2000);
  CHECK(launch.stream == stream.get());
  CHECK(launch.first_parameter == 42);
  CHECK(launch.context == device.context());
  for (const auto& call : state().calls) {
    const std::string& name = call.first;
    CAPTURE(name);
    CHECK((name == "cuLaunchKernel" || name.rfind("cuCtx", 0) == 0));
  }
}

TEST_CASE("an empty grid launches nothing; one that is too large is refused") {
  Books books;
  Device device = Device::open(0);
  const Function function = Module::load(device, ptx("good")).function("add");
  function.launch({.grid = {0, 1, 1}}, nullptr, nullptr);
  CHECK(state().launches.empty());
  CHECK(refusal([&] {
          function.launch({.grid = {1, 65536, 1}}, nullptr, nullptr);
        }) ==
        "kernel 'add' needs a grid of 1 x 65536 x 1 blocks; at most 2147483647 x 65535 x 65535 can be launched; note: "
        "split the work into several launches");
  CHECK_THROWS_AS(function.launch({.grid = {std::int64_t{1} << 32, 1, 1}}, nullptr, nullptr), Error);
  CHECK(state().launches.empty());
}

TEST_CASE("a launch that fails names kernel, device and shape") {
  Books books;
  Device device = Device::open(0);
  const Function function = Module::load(device, ptx("good")).function("add");
  state().failures["cuLaunchKernel"] = 1;
  CHECK(
      refusal([&] {
        function.launch({.grid = {2, 1, 1}, .block = {32, 1, 1}}, nullptr, nullptr);
      }) ==
      "cuLaunchKernel failed: CUDA_ERROR_INVALID_VALUE (1): invalid argument, while launching kernel 'add' on device 0 "
      "(Fake GPU, sm_90) with a grid of 2 x 1 x 1, 32 x 1 x 1 threads, 0 bytes of dynamic shared memory");
}

TEST_CASE("a tensor map is encoded from the view's own numbers") {
  Books books;
  Device device = Device::open(0);
  TensorView view;
  view.base = 1 << 12;
  view.rank = 3;
  view.extents = {64, 100, 3};
  view.byte_strides = {0, 128, 0};
  view.box = {64, 32, 1};
  encode(device, view);
  REQUIRE(state().maps.size() == 1);
  const fake::EncodedMap& map = state().maps[0];
  CHECK(map.type == 9);
  CHECK(map.swizzle == 3);
  CHECK(map.base == 1 << 12);
  CHECK(map.extents == std::vector<std::uint64_t>{64, 100, 3});
  CHECK(map.strides == std::vector<std::uint64_t>{128, 0});
  CHECK(map.box == std::vector<std::uint32_t>{64, 32, 1});
}

TEST_CASE("an empty view becomes one zero element") {
  Books books;
  Device device = Device::open(0);
  TensorView view;
  view.rank = 3;
  view.extents = {64, 0, 3};
  view.byte_strides = {0, 7, 0};
  view.box = {64, 32, 1};
  view.swizzle = Swizzle::none;
  encode(device, view);
  const fake::EncodedMap& map = state().maps.at(0);
  CHECK(map.base == device.zeros());
  CHECK(map.swizzle == 0);
  CHECK(map.extents == std::vector<std::uint64_t>{1, 1, 1});
  CHECK(map.strides == std::vector<std::uint64_t>{16, 16});
  CHECK(map.box == std::vector<std::uint32_t>{64, 32, 1});
}

TEST_CASE("a map the driver refuses is an error with the view") {
  Books books;
  Device device = Device::open(0);
  state().failures["cuTensorMapEncodeTiled"] = 1;
  TensorView view;
  view.base = 0x1000;
  view.rank = 1;
  view.extents = {64};
  view.box = {64};
  CHECK(refusal([&] { encode(device, view); }) ==
        "cuTensorMapEncodeTiled failed: CUDA_ERROR_INVALID_VALUE (1): invalid argument, while describing a tensor of 1 "
        "axes at 0x1000");
}
