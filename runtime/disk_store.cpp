#include <tessera/runtime/disk_store.h>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <vector>

#include <tessera/runtime/file.h>

namespace tessera::runtime {

namespace {

constexpr std::string_view magic = "TESSERAC";
constexpr std::uint32_t format = 1;
constexpr const char* suffix = ".tessera";
constexpr const char* temporary_prefix = ".writing-";

// A writer takes milliseconds: a file this old under a temporary name was left by one that was killed.
constexpr std::time_t abandoned_seconds = 600;

struct Header {
  char magic[8];
  std::uint32_t format;
  std::uint32_t reserved;
  std::uint64_t key_high, key_low;
  std::uint64_t length;
  std::uint64_t check_high, check_low;
};
static_assert(sizeof(Header) == 56, "entries have no padding");

Header header_for(const Hash& key, std::string_view content) {
  Header header = {};
  std::memcpy(header.magic, magic.data(), sizeof header.magic);
  header.format = format;
  header.key_high = key.high;
  header.key_low = key.low;
  header.length = content.size();
  const Hash check = hash(content);
  header.check_high = check.high;
  header.check_low = check.low;
  return header;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

struct StoredFile {
  std::string name;
  std::int64_t bytes;
  timespec used;
};

// The entries of a directory; removes what killed writers left.
std::vector<StoredFile> list_entries(const std::string& directory) {
  std::vector<StoredFile> entries;
  DIR* stream = opendir(directory.c_str());
  if (!stream) return entries;
  const std::time_t now = std::time(nullptr);
  while (const dirent* item = readdir(stream)) {
    const std::string name = item->d_name;
    struct stat status = {};
    const bool temporary = name.rfind(temporary_prefix, 0) == 0;
    if (!temporary && !ends_with(name, suffix)) continue;
    if (fstatat(dirfd(stream), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) continue;
    if (!temporary) {
      entries.push_back({name, status.st_size, status.st_mtim});
    } else if (now - status.st_mtim.tv_sec > abandoned_seconds) {
      unlinkat(dirfd(stream), name.c_str(), 0);
    }
  }
  closedir(stream);
  return entries;
}

// Unique among the threads and processes that share the directory: O_EXCL settles what is left to chance.
std::string temporary_name() {
  static std::atomic<unsigned> counter{0};
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return fmt::format("{}{}-{}-{}", temporary_prefix, getpid(), counter++, now.tv_nsec);
}

}  // namespace

std::string pack_entry(const Hash& key, std::string_view content) {
  const Header header = header_for(key, content);
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  file += content;
  return file;
}

std::optional<std::string_view> unpack_entry(const Hash& key, std::string_view file) {
  if (file.size() < sizeof(Header)) return std::nullopt;
  const std::string_view content = file.substr(sizeof(Header));
  const Header wanted = header_for(key, content);
  if (std::memcmp(&wanted, file.data(), sizeof wanted) != 0) return std::nullopt;
  return content;
}

DiskStore::DiskStore(std::string directory, std::int64_t limit_bytes, std::string warning)
    : directory_(std::move(directory)),
      limit_(limit_bytes),
      warning_(std::move(warning)),
      writing_(!directory_.empty()) {}

std::string DiskStore::warning() const {
  std::lock_guard lock(mutex_);
  return warning_;
}

std::string DiskStore::path(const Hash& key) const { return directory_ + "/" + key.hex() + suffix; }

std::optional<std::string> DiskStore::read(const Hash& key) {
  if (directory_.empty()) return std::nullopt;
  const std::string name = path(key);
  FileHandle file(open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  auto bytes = file.read_all();
  auto content = bytes ? unpack_entry(key, *bytes) : std::nullopt;
  if (!content) {
    unlink(name.c_str());
    return std::nullopt;
  }
  // The time of last use, for eviction. A directory we may only read keeps its times.
  futimens(file.get(), nullptr);
  bytes->erase(0, bytes->size() - content->size());
  return bytes;
}

void DiskStore::write(const Hash& key, std::string_view content) {
  {
    std::lock_guard lock(mutex_);
    if (!writing_) return;
  }
  errno = 0;
  if (!store(key, content)) return give_up_writing(errno);
  evict(key.hex() + suffix);
}

bool DiskStore::store(const Hash& key, std::string_view content) {
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (error) {
    errno = error.value();
    return false;
  }
  const std::string temporary = directory_ + "/" + temporary_name();
  FileHandle file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return false;
  // Without fsync: a crash of the machine may leave a torn entry, which its checksum gives away.
  const bool done =
      file.write_all(pack_entry(key, content)) && file.close() && rename(temporary.c_str(), path(key).c_str()) == 0;
  if (!done) {
    const int cause = errno;
    unlink(temporary.c_str());
    errno = cause;
  }
  return done;
}

void DiskStore::give_up_writing(int error) {
  std::lock_guard lock(mutex_);
  writing_ = false;
  warning_ = fmt::format(
      "compiled kernels are kept in memory only: the cache directory {} cannot be written ({}); make it writable, free "
      "space there, or set TESSERA_CACHE_DIR",
      directory_, std::strerror(error));
}

void DiskStore::evict(const std::string& newest) {
  std::vector<StoredFile> entries = list_entries(directory_);
  std::int64_t total = 0;
  for (const StoredFile& entry : entries) total += entry.bytes;
  if (total <= limit_) return;
  std::sort(entries.begin(), entries.end(), [](const StoredFile& a, const StoredFile& b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec, a.name) < std::tie(b.used.tv_sec, b.used.tv_nsec, b.name);
  });
  for (const StoredFile& entry : entries) {
    if (total <= limit_) return;
    if (entry.name == newest) continue;
    unlink((directory_ + "/" + entry.name).c_str());
    total -= entry.bytes;
  }
}

}  // namespace tessera::runtime
