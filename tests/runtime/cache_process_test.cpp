// The cache among processes: races, kills, directories and disks that refuse.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <thread>

#include <tessera/runtime/cache.h>

#include "runtime/scope.h"

using namespace tessera::runtime;
using test::ScopedDirectory;
namespace fs = std::filesystem;

namespace {

// Runs `body` in a child; its result is the exit code.
pid_t start(const std::function<int()>& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int code = 99;
    try {
      code = body();
    } catch (...) {
    }
    _exit(code);
  }
  return child;
}

int finish(pid_t child) {
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Memory that a test shares with its children.
template <class T>
class Shared {
 public:
  Shared() : value_(new (mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) T()) {}
  ~Shared() { munmap(value_, sizeof(T)); }
  T* operator->() const { return value_; }
  T& operator*() const { return *value_; }

 private:
  T* value_;
};

// What a key must always hold: long enough that a torn write shows.
std::string content_of(int which) {
  std::string content(20000 + 1000 * which, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7 + which);
  return content;
}

}  // namespace

TEST_CASE("8 processes of 8 threads want one key of an empty cache: all get it, one entry stays") {
  constexpr int processes = 8, threads = 8, rounds = 20;
  const Hash key = hash("a key");
  const std::string content = content_of(1);
  for (int round = 0; round < rounds; ++round) {
    ScopedDirectory directory;
    Shared<std::atomic<int>> ready, made;
    auto one_process = [&] {
      Cache cache({.directory = directory.path()});
      std::atomic<int> right{0};
      std::vector<std::thread> pool;
      for (int t = 0; t < threads; ++t) {
        pool.emplace_back([&] {
          ++*ready;
          while (*ready < processes * threads) std::this_thread::yield();
          auto blob = cache.get_or_make(key, [&] {
            ++*made;
            return content;
          });
          if (*blob == content) ++right;
        });
      }
      for (std::thread& thread : pool) thread.join();
      return right == threads && cache.warning().empty() && cache.statistics().made <= 1 ? 0 : 1;
    };
    std::vector<pid_t> children;
    for (int p = 0; p < processes; ++p) children.push_back(start(one_process));
    for (pid_t child : children) CHECK(finish(child) == 0);
    CHECK(*made >= 1);
    CHECK(*made <= processes);
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory.path())) names.push_back(entry.path().filename());
    CHECK(names == std::vector<std::string>{key.hex() + ".tessera"});
  }
}

TEST_CASE("a process killed at any moment of writing leaves whole entries or none") {
  ScopedDirectory directory;
  constexpr int keys = 4;
  int interrupted = 0;
  for (int round = 0; round < 60; ++round) {
    Shared<std::atomic<int>> written;
    const pid_t child = start([&]() -> int {
      DiskStore store(directory.path(), 1 << 30);
      for (;;) {
        for (int k = 0; k < keys; ++k) store.write(hash(std::to_string(k)), content_of(k));
        ++*written;
      }
    });
    while (*written == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(37 * round));
    kill(child, SIGKILL);
    CHECK(finish(child) == -SIGKILL);
    DiskStore store(directory.path(), 1 << 30);
    for (int k = 0; k < keys; ++k) {
      auto found = store.read(hash(std::to_string(k)));
      REQUIRE(found);
      CHECK(*found == content_of(k));
    }
    for (const auto& entry : fs::directory_iterator(directory.path())) {
      if (entry.path().filename().string().rfind(".writing-", 0) != 0) continue;
      ++interrupted;
      const timespec then = {std::time(nullptr) - 3600, 0};
      const timespec times[] = {then, then};
      utimensat(AT_FDCWD, entry.path().c_str(), times, 0);
    }
  }
  MESSAGE("writers interrupted while a file was open: ", interrupted);
  DiskStore(directory.path(), 1 << 30).write(hash("0"), content_of(0));
  CHECK(std::distance(fs::directory_iterator(directory.path()), {}) == keys);
}

TEST_CASE("readers never see a torn entry while others write, damage and evict") {
  ScopedDirectory directory;
  Shared<std::atomic<bool>> stop;
  auto writer = [&](std::int64_t limit) {
    return start([&, limit] {
      DiskStore store(directory.path(), limit);
      while (!*stop) {
        for (int k = 0; k < 4; ++k) store.write(hash(std::to_string(k)), content_of(k));
      }
      return store.warning().empty() ? 0 : 1;
    });
  };
  const pid_t roomy = writer(1 << 30), tight = writer(30000);
  const pid_t vandal = start([&] {
    for (int i = 0; !*stop; ++i) {
      const std::string path = directory.path() + "/" + hash(std::to_string(i % 4)).hex() + ".tessera";
      [[maybe_unused]] int ignored = truncate(path.c_str(), 100 + i % 10000);
      usleep(500);
    }
    return 0;
  });
  DiskStore store(directory.path(), 1 << 30);
  int wrong = 0, found = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
  for (int i = 0; std::chrono::steady_clock::now() < end; ++i) {
    if (auto content = store.read(hash(std::to_string(i % 4)))) {
      ++found;
      if (*content != content_of(i % 4)) ++wrong;
    }
  }
  *stop = true;
  for (pid_t child : {roomy, tight, vandal}) CHECK(finish(child) == 0);
  CHECK(wrong == 0);
  CHECK(found > 0);
}

TEST_CASE("a directory we may only read is read, and the rest stays in memory") {
  ScopedDirectory directory;
  const Hash kept = hash("kept"), fresh = hash("new");
  Cache({.directory = directory.path()}).get_or_make(kept, [] { return std::string("kept"); });
  for (const auto& entry : fs::directory_iterator(directory.path())) chmod(entry.path().c_str(), 0444);
  chmod(directory.path().c_str(), 0555);
  const pid_t child = start([&] {
    if (geteuid() == 0 && setuid(65534) != 0) return 1;
    Cache cache({.directory = directory.path()});
    if (*cache.get_or_make(kept, [] { return std::string("again"); }) != "kept") return 2;
    if (!cache.warning().empty()) return 3;
    if (*cache.get_or_make(fresh, [] { return std::string("new"); }) != "new") return 4;
    if (*cache.get_or_make(fresh, [] { return std::string("again"); }) != "new") return 5;
    const std::string wanted = "compiled kernels are kept in memory only: the cache directory " + directory.path() +
                               " cannot be written (Permission denied); make it writable, free space there, or set "
                               "TESSERA_CACHE_DIR";
    return cache.warning() == wanted ? 0 : 6;
  });
  CHECK(finish(child) == 0);
  chmod(directory.path().c_str(), 0755);
  CHECK(std::distance(fs::directory_iterator(directory.path()), {}) == 1);
}

TEST_CASE("a disk that is full in the middle of a file leaves no part of it") {
  ScopedDirectory directory;
  const pid_t child = start([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1000, 1000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    Cache cache({.directory = directory.path()});
    const Hash key = hash("large");
    if (*cache.get_or_make(key, [] { return content_of(0); }) != content_of(0)) return 2;
    if (*cache.get_or_make(key, [] { return std::string("again"); }) != content_of(0)) return 3;
    return cache.warning().find("cannot be written (File too large)") != std::string::npos ? 0 : 4;
  });
  CHECK(finish(child) == 0);
  CHECK(fs::is_empty(directory.path()));
}
