// Launches captured into a CUDA graph and replayed.
#include <doctest/doctest.h>

#include <vector>

#include <tessera/runtime/memory.h>
#include <tessera/runtime/program.h>
#include <tessera/runtime/stream.h>

#include "runtime/kernels.h"
#include "support/gpu/graph.h"

using namespace tessera::runtime;
using tessera::test::Graph;

namespace {

struct Adder {
  Program program{Assembler::find().assemble(test::add_ptx, {}), "add", 0};
  Device device = Device::open(0);
  Stream stream{device};
  DeviceBuffer buffer{device, 400};

  void launch(int value) {
    std::uint64_t data = buffer.address();
    int count = 100;
    void* parameters[] = {&data, &count, &value};
    program.on(device).launch({.grid = {1, 1, 1}, .block = {128, 1, 1}}, parameters, stream.get());
  }
  void reset(unsigned char byte) { fill(device, buffer.address(), byte, 400); }
  std::vector<int> values() {
    std::vector<int> result(100);
    copy_to_host(device, result.data(), buffer.address(), 400);
    return result;
  }
};

}  // namespace

TEST_CASE("a captured launch runs at every replay, on what the memory holds then") {
  Adder adder;
  adder.launch(0);
  adder.stream.synchronize();
  adder.reset(0);
  const Graph graph(adder.stream, cu::CaptureMode::global, [&] {
    adder.launch(3);
    CHECK(adder.stream.capturing());
    adder.launch(4);
  });
  CHECK(!adder.stream.capturing());
  CHECK(adder.values() == std::vector<int>(100, 0));
  graph.replay(adder.stream);
  CHECK(adder.values() == std::vector<int>(100, 7));
  adder.reset(1);
  graph.replay(adder.stream);
  graph.replay(adder.stream);
  CHECK(adder.values() == std::vector<int>(100, 0x01010101 + 14));
}

TEST_CASE("a kernel loaded for the first time within a capture works") {
  for (bool by_driver : {false, true}) {
    CAPTURE(by_driver);
    Adder adder;
    adder.reset(0);
    const Program fresh(by_driver ? Assembler::by_driver("a test").assemble(test::add_ptx, {})
                                  : Assembler::find().assemble(test::add_ptx, {}),
                        "add", 0);
    const Graph graph(adder.stream, cu::CaptureMode::global, [&] {
      std::uint64_t data = adder.buffer.address();
      int count = 100, value = 5;
      void* parameters[] = {&data, &count, &value};
      fresh.on(adder.device).launch({.grid = {1, 1, 1}, .block = {128, 1, 1}}, parameters, adder.stream.get());
    });
    graph.replay(adder.stream);
    CHECK(adder.values() == std::vector<int>(100, 5));
  }
}

TEST_CASE("memory that outlives a capture can be allocated and freed within it") {
  Adder adder;
  adder.launch(0);
  adder.stream.synchronize();
  adder.reset(0);
  const Graph graph(adder.stream, cu::CaptureMode::global, [&] {
    {
      DeviceBuffer passing(adder.device, 400);
    }
    adder.launch(2);
  });
  graph.replay(adder.stream);
  CHECK(adder.values() == std::vector<int>(100, 2));
}

TEST_CASE("stream-ordered workspaces within a capture belong to the graph") {
  Adder adder;
  adder.launch(0);
  adder.stream.synchronize();
  adder.reset(0);
  const Graph graph(adder.stream, cu::CaptureMode::global, [&] {
    DeviceBuffer workspace(adder.device, 400, adder.stream.get());
    fill(adder.device, workspace.address(), 2, 400, adder.stream.get());
    copy_on_device(adder.device, adder.buffer.address(), workspace.address(), 400, adder.stream.get());
    adder.launch(1);
  });
  graph.replay(adder.stream);
  graph.replay(adder.stream);
  CHECK(adder.values() == std::vector<int>(100, 0x02020202 + 1));
}
