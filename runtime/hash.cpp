#include <tessera/runtime/hash.h>

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

namespace tessera::runtime {

namespace {
Hash convert(XXH128_hash_t value) { return {value.high64, value.low64}; }
}  // namespace

std::string Hash::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

Hash hash(std::string_view bytes) { return convert(XXH3_128bits(bytes.empty() ? "" : bytes.data(), bytes.size())); }

struct Hasher::State {
  XXH3_state_t value;
};

Hasher::Hasher() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->value); }
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

Hasher& Hasher::add(std::string_view field) {
  add(static_cast<std::int64_t>(field.size()));
  if (!field.empty()) XXH3_128bits_update(&state_->value, field.data(), field.size());
  return *this;
}

Hasher& Hasher::add(std::int64_t field) {
  unsigned char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(static_cast<std::uint64_t>(field) >> (8 * i));
  XXH3_128bits_update(&state_->value, bytes, sizeof bytes);
  return *this;
}

Hash Hasher::finish() const { return convert(XXH3_128bits_digest(&state_->value)); }

}  // namespace tessera::runtime
