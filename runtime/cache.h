// Compiled things, kept by the hash of what they were compiled from: in memory, and on disk across processes.
//
// Threads that want the same key at once make it once. Processes may make it at once; each writes a file of its own and
// renames it into place, so a reader finds a whole entry or none, whoever was killed when. Entries carry a checksum:
// what is torn, damaged or foreign counts as missing and is replaced.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include <tessera/runtime/disk_store.h>
#include <tessera/runtime/hash.h>

namespace tessera::runtime {

struct CacheOptions {
  // Empty for memory only; `why_memory_only` is then the warning, if there is to be one.
  std::string directory{};
  std::string why_memory_only{};
  std::int64_t disk_bytes = std::int64_t{1} << 30;
  std::int64_t memory_bytes = std::int64_t{256} << 20;

  // As the environment says: cache_directory(), cache_limit().
  static CacheOptions from_environment();
};

class Cache {
 public:
  using Blob = std::shared_ptr<const std::string>;

  struct Statistics {
    std::int64_t memory_hits = 0;
    std::int64_t disk_hits = 0;
    std::int64_t made = 0;
  };

  explicit Cache(CacheOptions options = CacheOptions::from_environment());

  // What is kept for `key`, or else what `make` returns. An exception of `make` reaches every thread that was waiting
  // for it, and is not kept. `make` must not ask for the same key.
  Blob get_or_make(const Hash& key, const std::function<std::string()>& make);

  // What is kept for `key`, or null.
  Blob find(const Hash& key);

  // Why nothing is kept on disk, empty if it is: one sentence for the user to read.
  std::string warning() const { return disk_.warning(); }
  Statistics statistics() const;

 private:
  struct Entry {
    Blob blob;
    std::list<Hash>::iterator age;
  };

  Blob lookup(const Hash& key);                  // mutex_ held
  void keep(const Hash& key, const Blob& blob);  // mutex_ held
  Blob load_or_make(const Hash& key, const std::function<std::string()>& make);

  DiskStore disk_;
  const std::int64_t memory_limit_;

  mutable std::mutex mutex_;
  std::unordered_map<Hash, Entry> memory_;
  std::list<Hash> ages_;  // most recently used first
  std::int64_t memory_used_ = 0;
  std::unordered_map<Hash, std::shared_future<Blob>> in_flight_;
  Statistics statistics_;
};

}  // namespace tessera::runtime
