// A stand-in for NVIDIA's driver library, for what a GPU can't show on demand: failures, and which calls were made.
//
// It is a shared library that tests open through Driver like the real one. "Device" memory is host memory, streams run
// at once, kernels don't run at all but are recorded.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <tessera/runtime/driver_types.h>

namespace tessera::runtime::fake {

struct Launch {
  std::string kernel;
  unsigned grid[3], block[3], shared_bytes;
  void* stream;
  std::uint64_t first_parameter;
  void* context;
};

struct EncodedMap {
  int type, rank, swizzle;
  std::uint64_t base;
  std::vector<std::uint64_t> extents, strides;
  std::vector<std::uint32_t> box;
};

// A thread's stack of current contexts. Without a destructor, like State without an end: objects of static lifetime
// give back what they hold when the process has ended.
class Contexts {
 public:
  bool empty() const { return size_ == 0; }
  void* back() const { return items_[size_ - 1]; }
  void push_back(void* context) { items_.at(size_++) = context; }
  void pop_back() { items_.at(--size_) = nullptr; }
  friend bool operator==(const Contexts&, const Contexts&) = default;

 private:
  std::array<void*, 16> items_{};
  std::size_t size_ = 0;
};

struct State {
  // What tests set.
  int version = 13000;
  int devices = 2;
  int capability = 90;  // of each device
  int init_result = 0;
  std::uint64_t memory_bytes = 1 << 20;  // of each device
  bool memory_pools = true;
  std::string missing;                  // an entry point this driver lacks
  std::map<std::string, int> failures;  // entry point -> result of every call of it
  bool recording = true;                // calls are counted, failed and written down; without, a call allocates nothing

  // What tests read.
  std::map<int, int> retained;                         // device -> retains less releases
  std::map<std::uint64_t, std::uint64_t> allocations;  // address -> bytes
  std::map<std::uint64_t, int> owners;                 // address -> device
  int streams = 0, events = 0, modules = 0;            // alive
  std::map<void*, unsigned long long> identities;      // of streams alive
  int relaxed_captures = 0;                            // exchanges of the capture mode not yet undone
  int loads_in_relaxed_mode = 0, allocations_in_relaxed_mode = 0;
  int work_on_null_stream = 0;                // fills of memory
  std::map<std::string, int> dynamic_shared;  // kernel -> bytes opted in to
  std::vector<Launch> launches;
  std::vector<EncodedMap> maps;
  std::map<std::string, int> calls;
  std::string last_image;
  bool capturing = false;
};

}  // namespace tessera::runtime::fake

// What the library exports for tests, to be looked up in it: the one state, and the calling thread's stack of contexts.
extern "C" tessera::runtime::fake::State* tessera_fake_state();
extern "C" tessera::runtime::fake::Contexts* tessera_fake_contexts();
