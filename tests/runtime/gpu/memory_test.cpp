#include <doctest/doctest.h>

#include <cstring>
#include <thread>
#include <vector>

#include <tessera/runtime/memory.h>
#include <tessera/runtime/stream.h>

using namespace tessera::runtime;

namespace {
cu::Context current() {
  cu::Context context = nullptr;
  driver().ctx_get_current(&context);
  return context;
}
}  // namespace

TEST_CASE("device 0 says what it has") {
  const DeviceInfo info = Device::open(0).info();
  MESSAGE(info.text());
  CHECK(!info.name.empty());
  CHECK(info.major >= 5);
  CHECK(info.multiprocessors > 0);
  CHECK(info.shared_bytes >= 48 << 10);
  CHECK(info.memory_bytes > std::int64_t{1} << 30);
  CHECK_THROWS_AS(Device::open(device_count()), Error);
}

TEST_CASE("memory makes the round trip, at once and in stream order") {
  Device device = Device::open(0);
  Stream stream(device);
  std::vector<int> data(1 << 20), back(data.size());
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int>(i * 7);
  const std::int64_t bytes = static_cast<std::int64_t>(data.size()) * 4;
  DeviceBuffer a(device, bytes), b(device, bytes, stream.get());
  CHECK(a.address() % 256 == 0);
  copy_to_device(device, a.address(), data.data(), bytes);
  copy_on_device(device, b.address(), a.address(), bytes, stream.get());
  fill(device, b.address() + 4, 0xff, 4, stream.get());
  copy_to_host(device, back.data(), b.address(), bytes, stream.get());
  stream.synchronize();
  data[1] = -1;
  CHECK(std::memcmp(back.data(), data.data(), bytes) == 0);
}

TEST_CASE("a buffer beyond 32-bit offsets is reached at its end") {
  Device device = Device::open(0);
  const std::int64_t bytes = (std::int64_t{5} << 30) + 64;
  if (device.info().memory_bytes < 2 * bytes) return;
  DeviceBuffer buffer(device, bytes);
  fill(device, buffer.address(), 1, bytes);
  fill(device, buffer.address() + bytes - 8, 2, 8);
  unsigned char back[16] = {};
  copy_to_host(device, back, buffer.address() + bytes - 16, 16);
  CHECK(back[7] == 1);
  CHECK(back[8] == 2);
  copy_to_host(device, back, buffer.address() + bytes - (std::int64_t{1} << 32) - 8, 8);
  CHECK(back[7] == 1);
}

TEST_CASE("out of memory is refused with the numbers, and leaves the device usable") {
  Device device = Device::open(0);
  const std::int64_t asked = 4 * device.info().memory_bytes;
  for (bool in_stream_order : {false, true}) {
    try {
      if (in_stream_order) {
        DeviceBuffer(device, asked, nullptr);
      } else {
        DeviceBuffer(device, asked);
      }
      FAIL("allocated");
    } catch (const OutOfMemory& error) {
      CHECK(error.asked() == asked);
      CHECK(error.free() > 0);
      CHECK(error.free() < device.info().memory_bytes);
    }
  }
  DeviceBuffer small(device, 16);
  fill(device, small.address(), 0, 16);
}

TEST_CASE("pointers are told apart: device memory, plain host memory, nothing") {
  Device device = Device::open(0);
  DeviceBuffer buffer(device, 1000), ordered(device, 1000, nullptr);
  for (std::uint64_t address : {buffer.address(), buffer.address() + 999, ordered.address()}) {
    CHECK(describe_pointer(address).memory == PointerInfo::Memory::device);
    CHECK(describe_pointer(address).ordinal == 0);
  }
  std::vector<int> host(1000);
  CHECK(describe_pointer(host.data()).memory == PointerInfo::Memory::unknown);
  CHECK(describe_pointer(std::uint64_t{0}).memory == PointerInfo::Memory::unknown);
  std::thread([&] { CHECK(describe_pointer(buffer.address()).ordinal == 0); }).join();
}

TEST_CASE("a thread without a current context works, and has none afterwards") {
  Device device = Device::open(0);
  std::thread([&] {
    REQUIRE(current() == nullptr);
    DeviceBuffer buffer(device, 16);
    Stream stream(device);
    Event event(device);
    fill(device, buffer.address(), 1, 16, stream.get());
    event.record(stream.get());
    stream.synchronize();
    CHECK(device_of_stream(stream.get()) == 0);
    CHECK(current() == nullptr);
  }).join();
}

TEST_CASE("another device's context stays current") {
  if (device_count() < 2) {
    MESSAGE("skipped: needs two devices");
    return;
  }
  Device first = Device::open(0), second = Device::open(1);
  ScopedContext outer(first);
  DeviceBuffer buffer(second, 16);
  fill(second, buffer.address(), 3, 16);
  CHECK(describe_pointer(buffer.address()).ordinal == 1);
  CHECK(current() == first.context());
}

TEST_CASE("events time the work between them") {
  Device device = Device::open(0);
  Stream stream(device), other(device);
  DeviceBuffer buffer(device, 256 << 20);
  Event begin(device), end(device);
  begin.record(stream.get());
  for (int i = 0; i < 10; ++i) fill(device, buffer.address(), 1, buffer.bytes(), stream.get());
  end.record(stream.get());
  end.make_wait(other.get());
  other.synchronize();
  CHECK(end.milliseconds_since(begin) > 0.1f);
  CHECK(end.milliseconds_since(begin) < 1000.0f);
}
