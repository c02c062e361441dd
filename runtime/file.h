// An open file descriptor with an owner, and whole reads and writes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tessera::runtime {

class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int descriptor) : descriptor_(descriptor) {}  // negative: no file, errno says why
  ~FileHandle();
  FileHandle(FileHandle&& other) noexcept;
  FileHandle& operator=(FileHandle&& other) noexcept;

  explicit operator bool() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }

  // To the end; nothing on an error, which errno holds.
  std::optional<std::string> read_all() const;

  // All of it; false on an error, which errno holds.
  bool write_all(std::string_view bytes) const;

  // False if the file system reports a write that failed late.
  bool close();

 private:
  int descriptor_ = -1;
};

}  // namespace tessera::runtime
