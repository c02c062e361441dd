// One Attention and several threads, on the stand-in driver. The assembler works when the test lets it, so that a call
// is known to be made while another thread compiles; nothing here depends on how long anything takes.
#include "library/device/device_call.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <thread>

#include <doctest/doctest.h>

#include <tessera/library/made_once.h>
#include <tessera/runtime/process.h>

using namespace tessera;
using namespace tessera::test;

namespace {

constexpr std::chrono::minutes kForEver{2};  // to wait for what should be there at once: a hang is a failure

// The gate that gated_ptxas.sh waits at, and a cache that is empty.
class Gate {
 public:
  Gate() {
    setenv("TESSERA_TEST_GATE", folder_.path().c_str(), 1);
    setenv("TESSERA_CACHE_DIR", folder_.file("cache").c_str(), 1);
  }
  void open() { std::ofstream(folder_.file("open")) << "open"; }
  void close() { std::filesystem::remove(folder_.file("open")); }

  int started() const {  // assemblies, since the process began
    std::ifstream file(folder_.file("started"));
    return static_cast<int>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
  }
  // Until so many have started. False if they never do.
  bool await(int assemblies) const {
    const auto end = std::chrono::steady_clock::now() + kForEver;
    while (started() < assemblies) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }

 private:
  runtime::TemporaryDirectory folder_;
};

Gate& gate() {
  static Gate value;
  return value;
}

// Opens the gate whatever happens, so that threads that wait at it end.
struct Opened {
  ~Opened() { gate().open(); }
};

AttentionCall without_lse(AttentionCall call) {
  call.lse = {};
  return call;
}

// A call with its tensors in host memory.
struct HostCall {
  std::vector<std::uint16_t> q, k, v, o;
  AttentionCall call;
  HostCall() : q(40 * 64), k(50 * 64), v(50 * 64), o(40 * 64, 0xffff) {
    call = {.q = View::contiguous(q.data(), bf16, {1, 1, 40, 64}),
            .k = View::contiguous(k.data(), bf16, {1, 1, 50, 64}),
            .v = View::contiguous(v.data(), bf16, {1, 1, 50, 64}),
            .o = View::contiguous(o.data(), bf16, {1, 1, 40, 64})};
  }
};

bool ends(const std::future<void>& work) { return work.wait_for(kForEver) == std::future_status::ready; }
bool is_running(const std::future<void>& work) {
  return work.wait_for(std::chrono::seconds(0)) == std::future_status::timeout;
}

}  // namespace

TEST_CASE("a call that is ready does not wait for what another thread compiles") {
  gate().open();
  DeviceCall at;
  HostCall host;
  Attention attend(options(causal));
  attend(at.call);
  attend(host.call);
  const int before = gate().started();

  gate().close();
  std::future<void> compiling, calling, reading, on_host;
  const Opened opened;  // before the futures wait for their threads
  compiling = std::async(std::launch::async, [&] { attend(without_lse(at.call)); });
  REQUIRE(gate().await(before + 1));
  const std::size_t launches = runtime::test::state().launches.size();
  calling = std::async(std::launch::async, [&] { attend(at.call); });
  REQUIRE(ends(calling));
  CHECK(runtime::test::state().launches.size() == launches + 1);
  reading =
      std::async(std::launch::async, [&] { CHECK(attend.explain_json().find("registers") != std::string::npos); });
  CHECK(ends(reading));
  on_host = std::async(std::launch::async, [&] { attend(host.call); });
  CHECK(ends(on_host));
  CHECK(attend.compiles() == 1);
  CHECK(is_running(compiling));

  gate().open();
  compiling.get();
  CHECK(attend.compiles() == 2);
  CHECK(gate().started() == before + 1);
}

TEST_CASE("threads that ask for the same new kernel have it compiled once") {
  constexpr int kThreads = 6;
  gate().close();
  DeviceCall at;
  Attention attend(options(window(9, 0)));
  const int before = gate().started();
  std::atomic<int> calling = 0;
  std::vector<std::future<void>> threads;
  const Opened opened;
  const std::size_t launches = runtime::test::state().launches.size();
  for (int i = 0; i < kThreads; ++i) {
    threads.push_back(std::async(std::launch::async, [&] {
      ++calling;
      attend(at.call);
    }));
  }
  REQUIRE(gate().await(before + 1));
  while (calling < kThreads) std::this_thread::yield();
  for (const auto& thread : threads) CHECK(is_running(thread));
  gate().open();
  for (auto& thread : threads) thread.get();
  CHECK(attend.compiles() == 1);
  CHECK(gate().started() == before + 1);
  CHECK(runtime::test::state().launches.size() == launches + kThreads);
}

TEST_CASE("two new kernels are compiled at the same time") {
  gate().close();
  DeviceCall at;
  Attention attend(options(window(11, 0)));
  const int before = gate().started();
  std::future<void> one, other;
  const Opened opened;
  one = std::async(std::launch::async, [&] { attend(at.call); });
  other = std::async(std::launch::async, [&] { attend(without_lse(at.call)); });
  CHECK(gate().await(before + 2));  // the second started, and the first has not ended: the gate is closed
  gate().open();
  one.get();
  other.get();
  CHECK(attend.compiles() == 2);
}

TEST_CASE("a value that could not be made is asked for again, and whoever waited is told") {
  library::MadeOnce<int, int> values;
  std::promise<void> making, go_on;
  std::atomic<int> made = 0;
  auto first = std::async(std::launch::async, [&] {
    return values.get(1, [&]() -> int {
      ++made;
      making.set_value();
      go_on.get_future().wait();
      throw std::runtime_error("no");
    });
  });
  making.get_future().wait();
  CHECK(values.get(2, [] { return 20; }) == 20);  // another key, while the first is being made
  std::atomic<bool> asked = false;
  auto second = std::async(std::launch::async, [&] {
    asked = true;
    return values.get(1, [&] { return ++made, 10; });
  });
  while (!asked) std::this_thread::yield();
  go_on.set_value();
  CHECK_THROWS_AS(first.get(), std::runtime_error);
  try {  // the second waited for the first, or came after it had failed
    const int value = second.get();
    CHECK(value == 10);
    CHECK(made == 2);
  } catch (const std::runtime_error&) {
    CHECK(made == 1);
  }
  CHECK(values.get(1, [] { return 10; }) == 10);
  CHECK(values.get(1, [] { return 11; }) == 10);
}
