// Modules, launches and tensor maps over the stand-in driver (tests/runtime/fake).
#include <thread>

#include <tessera/runtime/program.h>
#include <tessera/runtime/stream.h>
#include <tessera/runtime/tensor_map.h>

#include "runtime/fake/books.h"

using namespace tessera::runtime;
using namespace tessera::runtime::test;

TEST_CASE("a program is loaded once per device, by whichever thread comes first") {
  Books books;
  Device first = Device::open(0), second = Device::open(1);
  Program program(ptx(".entry add"), "add", 1000);
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
  Module::load(device, ptx(".entry add"));
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
  const Module module = Module::load(device, ptx(".entry add"));
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
    const Function function = Module::load(device, ptx(".entry add")).function("add");
    CHECK(state().modules == 1);
  }
  CHECK(state().modules == 0);
}

TEST_CASE("a launch passes on its shape, parameters and stream, and does nothing else") {
  Books books;
  Device device = Device::open(0);
  Stream stream(device);
  Program program(ptx(".entry add"), "add", 2000);
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
  const Function function = Module::load(device, ptx(".entry add")).function("add");
  function.launch({.grid = {0, 1, 1}}, nullptr, nullptr);
  CHECK(state().launches.empty());
  CHECK(refusal([&] { function.launch({.grid = {1, 65536, 1}}, nullptr, nullptr); }) ==
        "kernel 'add' needs a grid of 1 x 65536 x 1 blocks; at most 2147483647 x 65535 x 65535 can be launched; note: "
        "split the work into several launches");
  CHECK_THROWS_AS(function.launch({.grid = {std::int64_t{1} << 32, 1, 1}}, nullptr, nullptr), Error);
  CHECK(state().launches.empty());
}

TEST_CASE("a launch that fails names kernel, device and shape") {
  Books books;
  Device device = Device::open(0);
  const Function function = Module::load(device, ptx(".entry add")).function("add");
  state().failures["cuLaunchKernel"] = 1;
  CHECK(
      refusal([&] { function.launch({.grid = {2, 1, 1}, .block = {32, 1, 1}}, nullptr, nullptr); }) ==
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
