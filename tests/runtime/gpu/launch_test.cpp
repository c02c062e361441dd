#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <vector>

#include <tessera/runtime/environment.h>
#include <tessera/runtime/memory.h>
#include <tessera/runtime/program.h>
#include <tessera/runtime/stream.h>

#include "runtime/kernels.h"
#include "runtime/scope.h"

using namespace tessera::runtime;
using test::ScopedVariable;

namespace {

// The add kernel from ptxas if there is one, else from the driver.
const Program& add() {
  static const Program program(Assembler::find().assemble(test::add_ptx, {}), "add", 0);
  return program;
}

void launch_add(const Device& device, std::uint64_t data, int count, int value, cu::Stream stream) {
  void* parameters[] = {&data, &count, &value};
  add().on(device).launch({.grid = {(count + 127) / 128, 1, 1}, .block = {128, 1, 1}}, parameters, stream);
}

std::vector<int> download(const Device& device, const DeviceBuffer& buffer) {
  std::vector<int> values(static_cast<std::size_t>(buffer.bytes() / 4));
  copy_to_host(device, values.data(), buffer.address(), buffer.bytes());
  return values;
}

}  // namespace

TEST_CASE("a kernel runs, from a cubin where there is ptxas") {
  Device device = Device::open(0);
  MESSAGE("assembled by ", add().image().assembler);
  DeviceBuffer buffer(device, 4000);
  fill(device, buffer.address(), 0, 4000);
  launch_add(device, buffer.address(), 999, 5, nullptr);
  const std::vector<int> values = download(device, buffer);
  CHECK(values[0] == 5);
  CHECK(values[998] == 5);
  CHECK(values[999] == 0);
}

TEST_CASE("the same kernel assembled by the driver gives the same result and the same registers") {
  Device device = Device::open(0);
  ScopedVariable none(variable::ptxas, "none");
  // No code of this text is in the driver's own cache, so it assembles, and reports.
  const std::string text =
      test::add_ptx + fmt::format("// {}\n", std::chrono::system_clock::now().time_since_epoch().count());
  const Program program(Assembler::find().assemble(text, {}), "add", 0);
  DeviceBuffer buffer(device, 400);
  fill(device, buffer.address(), 0, 400);
  std::uint64_t data = buffer.address();
  int count = 100, value = 7;
  void* parameters[] = {&data, &count, &value};
  program.on(device).launch({.grid = {1, 1, 1}, .block = {128, 1, 1}}, parameters, nullptr);
  CHECK(download(device, buffer) == std::vector<int>(100, 7));
  CHECK(program.on(device).attributes().registers == add().on(device).attributes().registers);
  CHECK(program.on(device).attributes().local_bytes == 0);
  MESSAGE("the driver says: ", program.report_on(device).text);
  REQUIRE(program.report_on(device).find("add"));
  CHECK(program.report_on(device).find("add")->registers == program.on(device).attributes().registers);
}

TEST_CASE("bad PTX is refused by the driver with its text") {
  Device device = Device::open(0);
  std::string bad = test::add_ptx;
  bad.replace(bad.find("add.u32 %r4, %r4, %r6"), 21, "add.u32 %q9, %r4, %r6");
  Image image;
  image.kind = Image::Kind::ptx;
  image.bytes = bad;
  try {
    Module::load(device, image);
    FAIL("loaded");
  } catch (const AssemblyError& error) {
    MESSAGE(std::string(error.what()));
    CHECK(error.output().find("%q9") != std::string::npos);
  }
}

TEST_CASE("what is no cubin is refused, and so is a kernel that is not there") {
  Device device = Device::open(0);
  Image image;
  image.bytes = std::string(1000, 'x');
  CHECK_THROWS_AS(Module::load(device, image), DriverError);
  const Module module = Module::load(device, add().image());
  CHECK_THROWS_AS(module.function("subtract"), DriverError);
}

TEST_CASE("a launch that can't be leaves the device usable") {
  Device device = Device::open(0);
  CHECK_THROWS_AS(add().on(device).launch({.block = {5000, 1, 1}}, nullptr, nullptr), DriverError);
  CHECK_THROWS_AS(add().on(device).allow_shared(device.info().shared_bytes + 1), Error);
  DeviceBuffer buffer(device, 4);
  fill(device, buffer.address(), 0, 4);
  launch_add(device, buffer.address(), 1, 1, nullptr);
  CHECK(download(device, buffer) == std::vector<int>{1});
}

TEST_CASE("four threads with a stream each don't disturb one another") {
  Device device = Device::open(0);
  constexpr int count = 10000, times = 200;
  std::vector<std::vector<int>> results(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Stream stream(device);
      DeviceBuffer buffer(device, count * 4, stream.get());
      fill(device, buffer.address(), 0, buffer.bytes(), stream.get());
      for (int i = 0; i < times; ++i) launch_add(device, buffer.address(), count, t + 1, stream.get());
      stream.synchronize();
      results[t] = download(device, buffer);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 4; ++t) CHECK(results[t] == std::vector<int>(count, times * (t + 1)));
}

TEST_CASE("a launch takes less than 10 microseconds of the host") {
  Device device = Device::open(0);
  Stream stream(device);
  DeviceBuffer buffer(device, 4);
  launch_add(device, buffer.address(), 1, 1, stream.get());
  stream.synchronize();
  constexpr int times = 500;
  double best = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) launch_add(device, buffer.address(), 1, 1, stream.get());
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count() / times);
    stream.synchronize();
  }
  MESSAGE("microseconds per launch: ", best);
  CHECK(best < 10.0);
}
