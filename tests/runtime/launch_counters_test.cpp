// Which counter a launch gets, over the stand-in driver (tests/runtime/fake): nobody's but the stream's own.
#include <tessera/runtime/launch_counters.h>

#include <algorithm>
#include <barrier>
#include <set>
#include <thread>

#include <tessera/runtime/stream.h>

#include "runtime/fake/books.h"

using namespace tessera::runtime;
using namespace tessera::runtime::test;

namespace {

constexpr std::uint64_t kSector = 32;      // bytes of L2 that one counter has to itself
constexpr int kMany = 2 * (1 << 16) / 32;  // counters of two chunks

// Whether a counter is alone in its sector, in memory of the device, and 0.
bool usable(std::uint64_t counter) {
  if (counter % kSector != 0) return false;
  for (auto [address, bytes] : state().allocations)
    if (counter >= address && counter + kSector <= address + bytes)
      return *reinterpret_cast<const std::int32_t*>(counter) == 0;
  return false;
}

struct Counters : Books {
  Device device = Device::open(0);
  ScopedContext current{device};
  LaunchCounters counters{device};

  std::uint64_t captured(cu::Stream stream) {
    state().capturing = true;
    const std::uint64_t counter = counters.counter_for(stream);
    state().capturing = false;
    return counter;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Counters, "launches on one stream share a counter, streams do not") {
  const Stream a(device), b(device);
  const std::uint64_t of_a = counters.counter_for(a.get()), of_b = counters.counter_for(b.get());
  CHECK(of_a != of_b);
  for (std::uint64_t counter : {of_a, of_b}) CHECK(usable(counter));
  for (int i = 0; i < 3; ++i) {
    CHECK(counters.counter_for(b.get()) == of_b);
    CHECK(counters.counter_for(a.get()) == of_a);
  }
  const std::uint64_t of_null = counters.counter_for(nullptr);
  CHECK(usable(of_null));
  CHECK(of_null != of_a);
  CHECK(of_null != of_b);
  CHECK(counters.counter_for(nullptr) == of_null);
}

TEST_CASE_FIXTURE(Counters, "a stream that is made where one was destroyed is another") {
  std::set<std::uint64_t> seen;
  std::set<cu::Stream> handles;
  for (int i = 0; i < 100; ++i) {
    const Stream stream(device);
    handles.insert(stream.get());
    CHECK(seen.insert(counters.counter_for(stream.get())).second);
  }
#ifndef __SANITIZE_ADDRESS__    // which gives out no memory twice
  CHECK(handles.size() < 100);  // else this has shown nothing
#endif
}

TEST_CASE_FIXTURE(Counters, "every captured launch has a counter of its own, which no stream gets") {
  const Stream stream(device), other(device);
  const std::uint64_t before = counters.counter_for(stream.get());
  std::set<std::uint64_t> seen{before};
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t counter = captured(stream.get());
    CHECK(usable(counter));
    CHECK(seen.insert(counter).second);
  }
  CHECK(counters.counter_for(stream.get()) == before);
  CHECK(seen.insert(counters.counter_for(other.get())).second);
}

TEST_CASE_FIXTURE(Counters, "where the driver can't say whether a stream is captured, it may be") {
  const std::uint64_t before = counters.counter_for(nullptr);
  state().failures["cuStreamIsCapturing"] = 906;
  state().failures["cuStreamGetId"] = 906;
  const std::uint64_t first = counters.counter_for(nullptr), second = counters.counter_for(nullptr);
  CHECK(std::set{before, first, second}.size() == 3);
  state().failures.clear();
  CHECK(counters.counter_for(nullptr) == before);
}

TEST_CASE_FIXTURE(Counters, "counters are as many as are asked for, and stay where they are") {
  const Stream stream(device);
  const std::uint64_t of_stream = counters.counter_for(stream.get());
  const std::size_t few = state().allocations.size();
  std::vector<std::uint64_t> all{of_stream};
  for (int i = 0; i < kMany; ++i) all.push_back(captured(stream.get()));
  CHECK(std::all_of(all.begin(), all.end(), usable));
  CHECK(std::set(all.begin(), all.end()).size() == all.size());
  CHECK(state().allocations.size() == few + 2);
  CHECK(counters.counter_for(stream.get()) == of_stream);
}

TEST_CASE_FIXTURE(Counters, "memory for them is found while a stream is captured, without the null stream") {
  const int before = state().allocations_in_relaxed_mode;
  captured(nullptr);
  CHECK(state().relaxed_captures == 0);
  CHECK(state().allocations_in_relaxed_mode == before + 1);
  CHECK(state().work_on_null_stream == 0);
}

TEST_CASE_FIXTURE(Counters, "out of memory is said, and nobody's counter is lost by it") {
  const Stream stream(device);
  state().memory_bytes = 1000;
  CHECK_THROWS_AS(counters.counter_for(stream.get()), OutOfMemory);
  CHECK_THROWS_AS(counters.counter_for(stream.get()), OutOfMemory);
  state().memory_bytes = 1 << 20;
  const std::uint64_t counter = counters.counter_for(stream.get());
  CHECK(usable(counter));
  CHECK(counters.counter_for(stream.get()) == counter);
}

TEST_CASE_FIXTURE(Counters, "threads that launch at the same time") {
  constexpr std::size_t kThreads = 8, kOwn = 3000, kShared = 5;
  state().memory_bytes = 1 << 24;
  std::vector<std::vector<Stream>> streams(kThreads);
  for (std::vector<Stream>& own : streams)
    for (std::size_t i = 0; i < kOwn; ++i) own.emplace_back(device);
  std::vector<Stream> shared;
  for (std::size_t i = 0; i < kShared; ++i) shared.emplace_back(device);
  std::vector<std::vector<std::uint64_t>> of_shared(kThreads), own(kThreads);
  std::barrier start(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const ScopedContext mine(device);
      start.arrive_and_wait();
      for (std::size_t i = 0; i < kOwn; ++i) {
        own[t].push_back(counters.counter_for(streams[t][i].get()));
        const std::uint64_t counter = counters.counter_for(shared[i % kShared].get());
        if (i < kShared) of_shared[t].push_back(counter);
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::set<std::uint64_t> distinct(of_shared[0].begin(), of_shared[0].end());
  for (std::size_t t = 0; t < kThreads; ++t) {
    CHECK(of_shared[t] == of_shared[0]);
    distinct.insert(own[t].begin(), own[t].end());
  }
  CHECK(distinct.size() == kShared + kThreads * kOwn);
}

TEST_CASE("a device has one set of counters, another device another") {
  state() = {};
  state().devices = 8;  // the last ones are of this test alone: their counters are never given back
  const Device sixth = Device::open(6), seventh = Device::open(7);
  CHECK(&LaunchCounters::of(sixth) == &LaunchCounters::of(Device::open(6)));
  CHECK(&LaunchCounters::of(sixth) != &LaunchCounters::of(seventh));
  const auto counter_of = [](const Device& device) {
    const ScopedContext current(device);
    return LaunchCounters::of(device).counter_for(nullptr);
  };
  const std::uint64_t on_sixth = counter_of(sixth), on_seventh = counter_of(seventh);
  CHECK(counter_of(sixth) == on_sixth);
  CHECK(describe_pointer(on_sixth).ordinal == 6);
  CHECK(describe_pointer(on_seventh).ordinal == 7);
}
