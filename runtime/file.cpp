#include <tessera/runtime/file.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace tessera::runtime {

FileHandle::~FileHandle() { close(); }

FileHandle::FileHandle(FileHandle&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileHandle& FileHandle::operator=(FileHandle&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

std::optional<std::string> FileHandle::read_all() const {
  constexpr std::size_t least = 4096;
  struct stat status = {};
  const bool sized = fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
  // One byte more than a file has, so that the read that fills it also sees its end.
  std::string bytes(sized ? static_cast<std::size_t>(status.st_size) + 1 : least, '\0');
  std::size_t used = 0;
  for (;;) {
    if (used == bytes.size()) bytes.resize(2 * bytes.size());
    const ssize_t count = read(descriptor_, bytes.data() + used, bytes.size() - used);
    if (count == 0) break;
    if (count > 0) {
      used += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      return std::nullopt;
    }
  }
  bytes.resize(used);
  return bytes;
}

bool FileHandle::write_all(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = write(descriptor_, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool FileHandle::close() {
  if (descriptor_ < 0) return true;
  return ::close(std::exchange(descriptor_, -1)) == 0;
}

}  // namespace tessera::runtime
