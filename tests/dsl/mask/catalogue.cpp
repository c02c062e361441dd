#include "predicates.h"

#include <algorithm>

namespace tessera::testing {

namespace {

// Document ids by run lengths that do not divide anything.
Table documents(std::int64_t length) {
  std::vector<std::int32_t> ids;
  std::int32_t id = 0, left = 37;
  for (std::int64_t i = 0; i < length; ++i) {
    if (left-- == 0) ++id, left = 11 + (id * 97) % 301;
    ids.push_back(id);
  }
  return table(std::move(ids));
}

Table offsets_powers_of_two(std::int64_t length) {
  std::vector<std::int32_t> bits(static_cast<std::size_t>(length), 0);
  for (std::int64_t d = 1; d < length; d *= 2) bits[static_cast<std::size_t>(d)] = 1;
  bits[0] = 1;
  return table(std::move(bits));
}

}  // namespace

std::vector<NamedMask> catalogue(std::int64_t query_length, std::int64_t key_length) {
  const auto diagonal = [](Args& a) { return a.q + (a.key_length - a.query_length); };
  const Table query_doc = documents(query_length), key_doc = documents(key_length);
  const Table offsets = offsets_powers_of_two(std::max<std::int64_t>({query_length, key_length, 1}));
  return {
      {"full", mask::everything(), true},
      {"causal top left", predicate("causal", [](Args& a) { return a.k <= a.q; }), true},
      {"causal", predicate("causal", [&](Args& a) { return a.k <= diagonal(a); }), true},
      {"window 100 0", predicate("window", [&](Args& a) { return (a.k <= diagonal(a)) & (diagonal(a) - a.k <= 100); }),
       true},
      {"window 33 200 top left", predicate("window", [](Args& a) { return (a.q - a.k <= 33) & (a.k - a.q <= 200); }),
       true},
      {"window by scalars",
       predicate("window",
                 [&](Args& a) {
                   return (a.k - diagonal(a) <= a.scalar("right", 70)) & (diagonal(a) - a.k <= a.scalar("left", 300));
                 }),
       true},
      {"window by abs", predicate("window", [](Args& a) { return abs(a.q - a.k) <= 90; }), true},
      {"prefix 200", predicate("prefix", [](Args& a) { return (a.k < 200) | (a.k <= a.q); }), true},
      {"sinks 5 window 300",
       predicate("sinks", [&](Args& a) { return (a.k <= diagonal(a)) & ((a.k < 5) | (diagonal(a) - a.k <= 300)); }),
       true},
      {"sinks 130 window 64",
       predicate("sinks", [&](Args& a) { return (a.k <= a.q) & ((a.k < 130) | (a.q - a.k < 64)); }), true},
      {"block diagonal 100", predicate("blocks", [](Args& a) { return a.q / 100 == a.k / 100; }), true},
      {"block diagonal 256 causal",
       predicate("blocks", [](Args& a) { return (a.q / 256 == a.k / 256) & (a.k <= a.q); }), true},
      {"keys of the head", predicate("heads", [](Args& a) { return where(a.head == 0, a.q + 0, a.q - 64) >= a.k; }),
       true},
      {"a shape", predicate("a_shape", [](Args& a) { return (a.k <= a.q) & ((a.k < 64) | (a.q - a.k < 256)); }), true},
      {"documents",
       predicate("documents",
                 [&](Args& a) { return a.read("qdoc", query_doc, {a.q}) == a.read("kdoc", key_doc, {a.k}); }),
       false},
      {"documents causal",
       predicate("documents",
                 [&](Args& a) {
                   return (a.read("qdoc", query_doc, {a.q}) == a.read("kdoc", key_doc, {a.k})) & (a.k <= a.q);
                 }),
       false},
      {"dilated 3", predicate("dilated", [](Args& a) { return ((a.q - a.k) % 3 == 0) & (abs(a.q - a.k) <= 150); }),
       false},
      {"strided or local",
       predicate("strided", [](Args& a) { return (a.k <= a.q) & ((a.q - a.k < 128) | ((a.q - a.k) % 128 == 0)); }),
       false},
      {"powers of two",
       predicate("log", [&](Args& a) { return (a.k <= a.q) & (a.read("offset", offsets, {a.q - a.k}) != 0); }), false},
      {"not a window", predicate("outside", [](Args& a) { return !(abs(a.q - a.k) <= 256); }), true},
      {"grid 20 x 25",
       predicate("grid", [](Args& a) { return (abs(a.q / 25 - a.k / 25) <= 3) & (abs(a.q % 25 - a.k % 25) <= 4); }),
       false},
  };
}

}  // namespace tessera::testing
