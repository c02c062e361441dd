// Devices, memory and streams over the stand-in driver (tests/runtime/fake): failures and their texts, and that every
// call leaves the current context and the driver's books as they were.
#include <thread>

#include <tessera/runtime/memory.h>
#include <tessera/runtime/program.h>
#include <tessera/runtime/stream.h>

#include "runtime/fake/books.h"

using namespace tessera::runtime;
using namespace tessera::runtime::test;

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
  const fake::Contexts before = contexts();
  CHECK(before.back() == first.context());
  {
    DeviceBuffer buffer(second, 16);
    Stream stream(second);
    Event event(second);
    event.record(stream.get());
    fill(second, buffer.address(), 1, 16);
    Program program(ptx(".entry add"), "add", 0);
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
