#include <doctest/doctest.h>

#include <set>

#include <tessera/runtime/hash.h>

using namespace tessera::runtime;

TEST_CASE("hash is XXH3 of 128 bits, as xxhsum -H2 prints it") {
  CHECK(hash("").hex() == "99aa06d3014798d86001c324468d497f");
  CHECK(hash("Tessera").hex() == "ea625a45d1111d6a49f27c1015494123");
  CHECK(hash(std::string(1000, '\0')).hex() == "3fb94aea6d09b97224c1ea6074dd588c");
}

TEST_CASE("fields carry their lengths") {
  auto of = [](auto... fields) {
    Hasher hasher;
    (hasher.add(std::string_view(fields)), ...);
    return hasher.finish();
  };
  CHECK(of("ab", "c") == of("ab", "c"));
  CHECK(of("ab", "c") != of("a", "bc"));
  CHECK(of("abc") != of("abc", ""));
  CHECK(of() != of(""));
}

TEST_CASE("numbers and their order count") {
  auto of = [](std::int64_t a, std::int64_t b) { return Hasher().add(a).add(b).finish(); };
  CHECK(of(1, 2) != of(2, 1));
  CHECK(of(-1, 0) != of(0, -1));
  CHECK(of(std::int64_t{1} << 40, 0) != of(0, 0));
}

TEST_CASE("a change of any one bit changes the hash") {
  std::set<std::string> seen;
  std::string text(100, 'x');
  seen.insert(hash(text).hex());
  for (char& c : text) {
    for (int bit = 0; bit < 8; ++bit) {
      c ^= static_cast<char>(1 << bit);
      seen.insert(hash(text).hex());
      c ^= static_cast<char>(1 << bit);
    }
  }
  CHECK(seen.size() == 801);
}

TEST_CASE("a hasher can be asked midway and continued") {
  Hasher hasher;
  hasher.add("a");
  const Hash midway = hasher.finish();
  CHECK(midway == hasher.finish());
  CHECK(hasher.add("b").finish() != midway);
  Hasher moved = std::move(hasher);
  CHECK(moved.finish() == Hasher().add("a").add("b").finish());
}
