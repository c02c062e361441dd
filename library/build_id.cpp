#include <tessera/library/build_id.h>

#include <elf.h>
#include <link.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>

#include <fmt/format.h>

#include <tessera/backend/compile.h>
#include <tessera/backend/emit/emit.h>
#include <tessera/runtime/hash.h>

namespace tessera::library {

namespace {

struct Search {
  std::uintptr_t code;
  std::string id;
};

bool contains(const dl_phdr_info& object, std::uintptr_t address) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr) & segment = object.dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && address - (object.dlpi_addr + segment.p_vaddr) < segment.p_memsz) return true;
  }
  return false;
}

std::string hex(const unsigned char* bytes, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

// The build ID among the notes of one segment; name and content of each are padded to the segment's alignment.
std::string find_id(const unsigned char* notes, std::size_t size, std::size_t alignment) {
  const auto padded = [alignment](std::size_t n) { return (n + alignment - 1) / alignment * alignment; };
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    ElfW(Nhdr) head;
    std::memcpy(&head, notes + at, sizeof head);
    const std::size_t name = at + sizeof head, content = name + padded(head.n_namesz);
    if (content + head.n_descsz > size) return {};
    const bool gnu = head.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0;
    if (gnu && head.n_type == NT_GNU_BUILD_ID) return hex(notes + content, head.n_descsz);
    at = content + padded(head.n_descsz);
  }
  return {};
}

int look_at(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (!contains(*object, search.code)) return 0;
  for (int i = 0; i < object->dlpi_phnum && search.id.empty(); ++i) {
    const ElfW(Phdr) & segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    auto notes = reinterpret_cast<const unsigned char*>(object->dlpi_addr + segment.p_vaddr);
    search.id = find_id(notes, segment.p_memsz, segment.p_align == 8 ? 8 : 4);
  }
  return 1;
}

// The content of the file that is mapped at an address. A file of that name with another inode came later; as long as
// the old one is mapped, no other file has its number.
std::optional<std::string> loaded_file(std::uintptr_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t from = 0, to = 0;
    unsigned long long inode = 0;
    int name = -1;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %*x %*x:%*x %llu %n", &from, &to, &inode, &name) != 3 || name < 0)
      continue;
    if (address < from || address >= to) continue;
    const std::string path = line.substr(static_cast<std::size_t>(name));
    std::ifstream file(path, std::ios::binary);
    struct stat status = {};
    if (inode == 0 || !file || stat(path.c_str(), &status) != 0 || status.st_ino != inode) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  return std::nullopt;
}

std::string of_this_process() {
  static const std::string name = [] {
    std::random_device random;
    return fmt::format("process {:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
  }();
  return name;
}

}  // namespace

std::string build_id_of(const void* code) {
  Search search{reinterpret_cast<std::uintptr_t>(code), {}};
  dl_iterate_phdr(look_at, &search);
  return search.id;
}

std::string identity_of(const void* code) {
  if (std::string id = build_id_of(code); !id.empty()) return id;
  if (const auto content = loaded_file(reinterpret_cast<std::uintptr_t>(code))) {
    return "file " + runtime::hash(*content).hex();
  }
  return of_this_process();
}

std::string compiler_identity() {
  return identity_of(reinterpret_cast<const void*>(&backend::compile)) + " " +
         identity_of(reinterpret_cast<const void*>(&backend::emit));
}

}  // namespace tessera::library
