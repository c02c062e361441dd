// Attention under every pattern, on the CPU, against fp64; and the COUNT probe, which knows the answer without a
// reference.
#include <doctest/doctest.h>

#include "library/attention_case.h"

using namespace tessera;
using namespace tessera::test;

namespace {

struct Named {
  const char* name;
  Mask mask;
  std::function<bool(const Pair&)> allowed;
};

constexpr std::int64_t kQueries = 150, kKeys = 170, kShift = kKeys - kQueries;

std::vector<Named> every_pattern() {
  static const std::vector<std::int32_t> ids = document_ids({30, 1, 70, 69});
  auto own = [](const Pair& p) { return p.q + kShift; };
  return {
      {"full", full, [](const Pair&) { return true; }},
      {"causal", causal, [=](const Pair& p) { return p.k <= own(p); }},
      {"causal top-left", causal(Align::top_left), [](const Pair& p) { return p.k <= p.q; }},
      {"window", window(40, 0), [=](const Pair& p) { return p.k <= own(p) && p.k >= own(p) - 40; }},
      {"window both sides", window(10, 25), [=](const Pair& p) { return p.k <= own(p) + 25 && p.k >= own(p) - 10; }},
      {"prefix", prefix(33), [=](const Pair& p) { return p.k < 33 || p.k <= own(p); }},
      {"sinks", sink_window(4, 20), [=](const Pair& p) { return p.k <= own(p) && (p.k >= own(p) - 20 || p.k < 4); }},
      {"block-diagonal", block_diagonal(48), [=](const Pair& p) { return own(p) / 48 == p.k / 48; }},
      {"documents", documents(ids), [](const Pair& p) { return ids[p.q] == ids[p.k]; }},
      {"causal documents", causal & documents(ids),
       [=](const Pair& p) { return p.k <= own(p) && ids[p.q] == ids[p.k]; }},
      {"window or prefix, not causal", window(8, 8) | ~sinks(100),
       [=](const Pair& p) { return (p.k <= own(p) + 8 && p.k >= own(p) - 8) || p.k >= 100; }},
      {"own expression", [](Position q, Position k) { return (q - k) % 3 == 0 && abs(q - k) <= 60; },
       [](const Pair& p) { return (p.q - p.k) % 3 == 0 && std::abs(p.q - p.k) <= 60; }},
  };
}

Case case_of(const Named& pattern) {
  Case c{.batch = 2, .heads = 2, .kv_heads = 1, .queries = kQueries, .keys = kKeys, .depth = 32};
  c.mask = pattern.mask;
  c.allowed = pattern.allowed;
  return c;
}

}  // namespace

TEST_CASE("each pattern is attention over what it allows") {
  for (const Named& pattern : every_pattern()) {
    Case c = case_of(pattern);
    check_case(c, pattern.name);
    c.dtype = DType::f16;
    check_case(c, std::string(pattern.name) + ", f16");
  }
}

TEST_CASE("each pattern visits each live pair once: COUNT probe") {
  for (const Named& pattern : every_pattern()) {
    for (auto [query_tile, key_tile] : {std::pair{64, 64}, {128, 32}, {64, 128}}) {
      Case c = case_of(pattern);
      c.batch = 1;
      c.depth = 8;
      c.query_tile = query_tile;
      c.key_tile = key_tile;
      check_counts(c, pattern.name);
    }
  }
}

TEST_CASE("window of W keys counts W, at and around tile edges (B22)") {
  for (int width : {1, 63, 64, 65}) {
    Case c{.queries = 4 * width, .keys = 4 * width, .depth = 8};
    c.mask = window(width - 1, 0);
    c.allowed = [=](const Pair& p) { return p.k <= p.q && p.q - p.k < width; };
    check_counts(c, "window " + std::to_string(width));
  }
}

TEST_CASE("both alignments for unequal lengths (B03, B23)") {
  for (auto [queries, keys] : {std::pair<std::int64_t, std::int64_t>{5, 2}, {2, 5}, {130, 257}, {257, 130}, {96, 32}}) {
    Case c{.queries = queries, .keys = keys, .depth = 8};
    std::string name = std::to_string(queries) + " x " + std::to_string(keys);
    c.mask = causal;
    c.allowed = [=, d = keys - queries](const Pair& p) { return p.k <= p.q + d; };
    check_counts(c, "bottom-right " + name);
    c.mask = causal(Align::top_left);
    c.allowed = [](const Pair& p) { return p.k <= p.q; };
    check_counts(c, "top-left " + name);
  }
}

TEST_CASE("equal masks, however they are spelled, give equal bits (B21, B30)") {
  constexpr std::int64_t n = 200;
  std::vector<std::int32_t> ids;
  for (int i = 0; i < n; ++i) ids.push_back(i / 50);
  std::vector<std::vector<Mask>> classes{
      {causal, window(n - 1, 0), Mask([](Position q, Position k) { return q >= k; })},
      {documents(ids), block_diagonal(50)},
      {window(30, 30), Mask([](Position q, Position k) { return abs(q - k) <= 30; }),
       Mask([](Position q, Position k) { return (q - k) * (q - k) <= 900; })},
  };
  for (const std::vector<Mask>& equal : classes) {
    std::vector<double> first;
    for (const Mask& mask : equal) {
      Case c{.heads = 2, .kv_heads = 2, .queries = n, .keys = n, .depth = 16, .mask = mask};
      Tensors t(c);
      Attention attend(options_of(c));
      attend(t.call(c));
      if (first.empty()) first = t.o.values();
      CHECK(max_difference(first, t.o.values()) == 0);
    }
  }
}
