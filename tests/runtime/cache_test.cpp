#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include <tessera/runtime/cache.h>
#include <tessera/runtime/environment.h>
#include <tessera/runtime/process.h>

#include "runtime/scope.h"

using namespace tessera::runtime;
using test::ScopedDirectory;
using test::ScopedVariable;
namespace fs = std::filesystem;

namespace {

const Hash key = hash("a key");

std::string file_of(const ScopedDirectory& directory, const Hash& which = key) {
  return directory.path() + "/" + which.hex() + ".tessera";
}

std::size_t files_in(const std::string& path) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(path)) ++count;
  return count;
}

void overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

void age(const std::string& path, std::time_t seconds) {
  const timespec then = {std::time(nullptr) - seconds, 0};
  const timespec times[] = {then, then};
  REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

std::string never() { throw std::logic_error("was made again"); }

}  // namespace

TEST_CASE("what was made is found again: in memory, and by another process on disk") {
  ScopedDirectory directory;
  Cache cache({.directory = directory.path()});
  CHECK(cache.find(key) == nullptr);
  CHECK(*cache.get_or_make(key, [] { return std::string("content"); }) == "content");
  CHECK(*cache.get_or_make(key, never) == "content");
  CHECK(*cache.find(key) == "content");
  CHECK(cache.statistics().made == 1);
  CHECK(cache.statistics().memory_hits == 2);
  Cache other({.directory = directory.path()});
  CHECK(*other.get_or_make(key, never) == "content");
  CHECK(other.statistics().disk_hits == 1);
  CHECK(Cache({.directory = directory.path()}).find(hash("another key")) == nullptr);
  CHECK(cache.warning().empty());
}

TEST_CASE("content may be empty, large, or hold any byte") {
  ScopedDirectory directory;
  std::string all(100000, '\0');
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<char>(i * 31);
  Cache cache({.directory = directory.path()});
  cache.get_or_make(hash("empty"), [] { return std::string(); });
  cache.get_or_make(hash("all"), [&] { return all; });
  Cache other({.directory = directory.path()});
  CHECK(*other.get_or_make(hash("empty"), never) == "");
  CHECK(*other.get_or_make(hash("all"), never) == all);
}

TEST_CASE("the directory is made with its parents") {
  ScopedDirectory directory;
  Cache cache({.directory = directory.path() + "/a/b/c"});
  cache.get_or_make(key, [] { return std::string("x"); });
  CHECK(cache.warning().empty());
  CHECK(files_in(directory.path() + "/a/b/c") == 1);
}

TEST_CASE("an entry of any other length is a miss and is replaced") {
  ScopedDirectory directory;
  const std::string whole = pack_entry(key, "content");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    overwrite(file_of(directory), whole.substr(0, length));
    Cache cache({.directory = directory.path()});
    CHECK(cache.find(key) == nullptr);
    CHECK(!fs::exists(file_of(directory)));
    CHECK(*cache.get_or_make(key, [] { return std::string("content"); }) == "content");
    CHECK(read_file(file_of(directory)) == whole);
  }
  overwrite(file_of(directory), whole + "x");
  CHECK(Cache({.directory = directory.path()}).find(key) == nullptr);
}

TEST_CASE("an entry with any flipped bit is a miss") {
  ScopedDirectory directory;
  const std::string whole = pack_entry(key, "content");
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      CAPTURE(byte);
      std::string damaged = whole;
      damaged[byte] ^= static_cast<char>(1 << bit);
      overwrite(file_of(directory), damaged);
      CHECK(DiskStore(directory.path(), 1 << 20).read(key) == std::nullopt);
    }
  }
}

TEST_CASE("foreign files are misses: garbage, another key's entry, a directory") {
  ScopedDirectory directory;
  overwrite(file_of(directory), std::string(1000, 'g'));
  CHECK(Cache({.directory = directory.path()}).find(key) == nullptr);
  overwrite(file_of(directory), pack_entry(hash("another key"), "content"));
  CHECK(Cache({.directory = directory.path()}).find(key) == nullptr);
  fs::create_directory(file_of(directory));
  Cache cache({.directory = directory.path()});
  CHECK(*cache.get_or_make(key, [] { return std::string("made"); }) == "made");
  CHECK(cache.warning().find("cannot be written (Is a directory)") != std::string::npos);
}

TEST_CASE("what killed writers left is swept, what others are writing is not") {
  ScopedDirectory directory;
  const std::string old = directory.path() + "/.writing-1-0-0", fresh = directory.path() + "/.writing-2-0-0",
                    stranger = directory.path() + "/notes.txt";
  for (const std::string& path : {old, fresh, stranger}) overwrite(path, "half");
  age(old, 3600);
  age(stranger, 3600);
  Cache({.directory = directory.path()}).get_or_make(key, [] { return std::string("x"); });
  CHECK(!fs::exists(old));
  CHECK(fs::exists(fresh));
  CHECK(fs::exists(stranger));
}

TEST_CASE("over its limit the directory loses the entries that were used least recently") {
  ScopedDirectory directory;
  const std::string content(1000, 'c');
  std::vector<Hash> keys;
  for (int i = 0; i < 5; ++i) keys.push_back(hash(std::to_string(i)));
  Cache filling({.directory = directory.path(), .disk_bytes = 1 << 20});
  for (int i = 0; i < 5; ++i) {
    filling.get_or_make(keys[i], [&] { return content; });
    age(file_of(directory, keys[i]), 1000 - 100 * i);
  }
  // Reading the oldest makes it the youngest.
  CHECK(Cache({.directory = directory.path()}).find(keys[0]));
  Cache full({.directory = directory.path(), .disk_bytes = 3 * 1056});
  full.get_or_make(key, [&] { return content; });
  CHECK(fs::exists(file_of(directory, key)));
  CHECK(fs::exists(file_of(directory, keys[0])));
  CHECK(fs::exists(file_of(directory, keys[4])));
  for (int i = 1; i < 4; ++i) CHECK(!fs::exists(file_of(directory, keys[i])));
  CHECK(files_in(directory.path()) == 3);
}

TEST_CASE("an entry larger than the limit is kept until the next one") {
  ScopedDirectory directory;
  Cache cache({.directory = directory.path(), .disk_bytes = 100});
  cache.get_or_make(key, [] { return std::string(1000, 'x'); });
  CHECK(files_in(directory.path()) == 1);
  age(file_of(directory), 10);
  cache.get_or_make(hash("next"), [] { return std::string(1000, 'x'); });
  CHECK(files_in(directory.path()) == 1);
  CHECK(!fs::exists(file_of(directory)));
}

TEST_CASE("memory has a limit too, and what left it is still on disk") {
  ScopedDirectory directory;
  Cache cache({.directory = directory.path(), .memory_bytes = 2500});
  auto make = [] { return std::string(1000, 'm'); };
  cache.get_or_make(hash("1"), make);
  cache.get_or_make(hash("2"), make);
  cache.get_or_make(hash("1"), never);
  cache.get_or_make(hash("3"), make);
  const auto before = cache.statistics();
  cache.get_or_make(hash("1"), never);
  CHECK(cache.statistics().memory_hits == before.memory_hits + 1);
  cache.get_or_make(hash("2"), never);
  CHECK(cache.statistics().disk_hits == before.disk_hits + 1);
}

TEST_CASE("without a directory everything stays in memory, and the reason can be asked for") {
  ScopedVariable own(variable::cache_dir, std::nullopt), xdg(variable::xdg_cache_home, std::nullopt),
      home(variable::home, std::nullopt);
  Cache cache;
  CHECK(*cache.get_or_make(key, [] { return std::string("x"); }) == "x");
  CHECK(*cache.get_or_make(key, never) == "x");
  CHECK(cache.warning() ==
        "compiled kernels are kept in memory only: neither TESSERA_CACHE_DIR, XDG_CACHE_HOME nor HOME is set");
}

TEST_CASE("a directory that can't be made is a warning, not an error") {
  ScopedDirectory directory;
  overwrite(directory.path() + "/file", "");
  Cache cache({.directory = directory.path() + "/file/cache"});
  CHECK(*cache.get_or_make(key, [] { return std::string("x"); }) == "x");
  CHECK(*cache.get_or_make(key, never) == "x");
  CHECK(cache.warning() == "compiled kernels are kept in memory only: the cache directory " + directory.path() +
                               "/file/cache cannot be written (Not a directory); make it writable, free space there, "
                               "or set TESSERA_CACHE_DIR");
}

TEST_CASE("the environment's directory and limit are used") {
  ScopedDirectory directory;
  ScopedVariable own(variable::cache_dir, directory.path()), limit(variable::cache_megabytes, "7");
  const CacheOptions options = CacheOptions::from_environment();
  CHECK(options.directory == directory.path());
  CHECK(options.disk_bytes == 7 << 20);
  CHECK(options.why_memory_only.empty());
}

TEST_CASE("threads that want one key make it once and share it") {
  Cache cache(CacheOptions{});
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  std::vector<Cache::Blob> blobs(16);
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] {
      blobs[i] = cache.get_or_make(key, [&] {
        ++made;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return std::string("once");
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(made == 1);
  for (const Cache::Blob& blob : blobs) CHECK(blob == blobs[0]);
}

TEST_CASE("threads with different keys don't wait for each other") {
  Cache cache(CacheOptions{});
  std::promise<void> second_done;
  std::thread first([&] {
    cache.get_or_make(hash("1"), [&] {
      const bool overtaken = second_done.get_future().wait_for(std::chrono::seconds(30)) == std::future_status::ready;
      return std::string(overtaken ? "overtaken" : "alone");
    });
  });
  cache.get_or_make(hash("2"), [] { return std::string("2"); });
  second_done.set_value();
  first.join();
  CHECK(*cache.find(hash("1")) == "overtaken");
}

TEST_CASE("an exception reaches all who wait, and the next call tries again") {
  Cache cache(CacheOptions{});
  std::atomic<int> made{0}, failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      try {
        cache.get_or_make(key, [&]() -> std::string {
          ++made;
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          throw std::runtime_error("refused");
        });
      } catch (const std::runtime_error& error) {
        if (std::string(error.what()) == "refused") ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failed == 8);
  CHECK(made >= 1);
  CHECK(*cache.get_or_make(key, [] { return std::string("now"); }) == "now");
}
