// A 128-bit hash of content (XXH3), for keys of caches and for checksums. Not cryptographic: it guards against
// accident, not against an adversary.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tessera::runtime {

struct Hash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  std::string hex() const;  // 32 lower-case digits, high half first
  friend bool operator==(const Hash&, const Hash&) = default;
  friend auto operator<=>(const Hash&, const Hash&) = default;
};

// Of the bytes, as XXH3_128bits with seed 0 gives it.
Hash hash(std::string_view bytes);

// Of a sequence of fields. Fields carry their lengths, so ("ab", "c") and ("a", "bc") differ.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  Hasher& add(std::string_view field);
  Hasher& add(std::int64_t field);
  Hash finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::runtime

template <>
struct std::hash<tessera::runtime::Hash> {
  std::size_t operator()(const tessera::runtime::Hash& hash) const noexcept { return hash.low; }
};
