// A directory of content-addressed entries, shared by any number of processes without locks.
//
// An entry is one file named by its key: a header (magic, format, key, length, checksum of the content) and the
// content. It is written under a name of its own and renamed into place. What does not check is treated as missing and
// removed. The oldest entries by last use go when the directory outgrows its limit. Nothing here throws or prints: a
// directory that can't be used leaves a warning to be asked for.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <tessera/runtime/hash.h>

namespace tessera::runtime {

class DiskStore {
 public:
  // Entries in `directory`, made with its parents at the first write. An empty name keeps nothing, with `warning` as
  // the reason.
  DiskStore(std::string directory, std::int64_t limit_bytes, std::string warning = {});

  std::optional<std::string> read(const Hash& key);
  void write(const Hash& key, std::string_view content);

  // Why entries are not written; empty if they are.
  std::string warning() const;

 private:
  std::string path(const Hash& key) const;
  bool store(const Hash& key, std::string_view content);
  void give_up_writing(int error);
  void evict(const std::string& newest);

  const std::string directory_;
  const std::int64_t limit_;

  mutable std::mutex mutex_;
  std::string warning_;
  bool writing_;
};

// The bytes of an entry's file, and its content if they are such bytes for this key.
std::string pack_entry(const Hash& key, std::string_view content);
std::optional<std::string_view> unpack_entry(const Hash& key, std::string_view file);

}  // namespace tessera::runtime
