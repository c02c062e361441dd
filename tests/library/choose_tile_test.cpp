// Which tiles an attention call gets: the cheapest by the backend's costs, counted here from what each mask means.
#include <tessera/library/choose_tile.h>

#include <algorithm>
#include <functional>

#include <doctest/doctest.h>

using namespace tessera;
using namespace tessera::library;
using backend::TileShape;

namespace {

const backend::Target& hopper() { return backend::target_named("sm_90a"); }

struct Call {
  Mask mask = full;
  Scores scores = {};
  bool lse = false, key_lengths = false;
  int value_dim = 0;
};

TileShape chosen(const Call& call, int head_dim, TileShape wanted = {}) {
  AttentionOptions options{.mask = call.mask, .scores = call.scores, .head_dim = head_dim};
  options.value_dim = call.value_dim ? call.value_dim : head_dim;
  options.scale = 0.125;
  return choose_tile(wanted, trace_attention(options, call.lse, call.key_lengths), hopper());
}

TileShape first(int width) { return backend::tile_candidates(width, width, hopper())[0].tile; }

// Keys that a query sees, as one interval, which moves on with the query.
using Seen = std::function<std::pair<std::int64_t, std::int64_t>(std::int64_t q)>;

// The cheapest candidate for 16384 queries and keys, by counting tiles one by one.
TileShape cheapest(const Seen& seen, int width) {
  constexpr std::int64_t kTokens = 16384;
  TileShape best;
  double least = 1e300;
  for (const backend::TileCandidate& candidate : backend::tile_candidates(width, width, hopper())) {
    double time = 0;
    for (std::int64_t q = 0; q < kTokens; q += candidate.tile.query) {
      const std::int64_t last = std::min(q + candidate.tile.query, kTokens) - 1;
      const auto [first_low, first_high] = seen(q);
      const auto [last_low, last_high] = seen(last);
      time += backend::kStart * candidate.full;
      for (std::int64_t k = 0; k < kTokens; k += candidate.tile.key) {
        const std::int64_t end = k + candidate.tile.key - 1;
        const bool full = k >= last_low && end <= first_high && end < kTokens;
        const bool live = end >= first_low && k <= last_high;
        time += full ? candidate.full : live ? candidate.partial : 0;
      }
    }
    if (time < least) least = time, best = candidate.tile;
  }
  return best;
}

Seen window_of(std::int64_t left, std::int64_t right) {
  return [=](std::int64_t q) { return std::pair(q - left, q + right); };
}

Seen blocks_of(std::int64_t size) {
  return [=](std::int64_t q) { return std::pair(q / size * size, q / size * size + size - 1); };
}

constexpr std::int64_t kAll = 1 << 20;

}  // namespace

TEST_CASE("the tiles of masks that are one run of keys take the least time") {
  struct Row {
    const char* name;
    Mask mask;
    Seen seen;
  };
  const Row rows[] = {
      {"full", full, window_of(kAll, kAll)},
      {"causal", causal, window_of(kAll, 0)},
      {"causal top left", causal(Align::top_left), window_of(kAll, 0)},
      {"window 127 0", window(127, 0), window_of(127, 0)},
      {"window 1023 0", window(1023, 0), window_of(1023, 0)},
      {"window 4095 0", window(4095, 0), window_of(4095, 0)},
      {"window 512 512", window(512, 512), window_of(512, 512)},
      {"block diagonal 512", block_diagonal(512), blocks_of(512)},
      {"block diagonal 2000", block_diagonal(2000), blocks_of(2000)},
      {"prefix 200", prefix(200),
       [](std::int64_t q) { return std::pair<std::int64_t, std::int64_t>(0, std::max<std::int64_t>(q, 199)); }},
      {"sinks 4", sinks(4), [](std::int64_t) { return std::pair<std::int64_t, std::int64_t>(0, 3); }},
      {"anti-causal", Mask([](Position q, Position k) { return k >= q; }), window_of(0, kAll)},
  };
  for (const Row& row : rows)
    for (int dim : {64, 128, 256}) {
      CAPTURE(row.name);
      CAPTURE(dim);
      const TileShape got = chosen({row.mask}, dim), want = cheapest(row.seen, dim);
      CAPTURE(got.query);
      CAPTURE(got.key);
      CAPTURE(want.query);
      CAPTURE(want.key);
      CHECK(got == want);
      CHECK(chosen({.mask = row.mask, .lse = true}, dim) == want);
    }
}

TEST_CASE("what is chosen") {
  struct Row {
    Mask mask;
    TileShape at_64, at_128;
  };
  const Row rows[] = {
      {full, {192, 128}, {192, 80}},
      {causal, {192, 128}, {192, 80}},
      {window(1023, 0), {192, 96}, {128, 128}},
      {window(4095, 0), {192, 128}, {192, 80}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.mask.predicate().function.name);
    CHECK(chosen({row.mask}, 64) == row.at_64);
    CHECK(chosen({row.mask}, 128) == row.at_128);
    CHECK(chosen({row.mask}, 256) == TileShape{128, 64});
  }
}

TEST_CASE("the wider of head and value decides between the widths") {
  CHECK(chosen({.mask = window(1023, 0), .value_dim = 128}, 64) == chosen({window(1023, 0)}, 128));
  CHECK(chosen({.mask = window(1023, 0), .value_dim = 64}, 128) == chosen({window(1023, 0)}, 128));
  CHECK(chosen({causal}, 72) == chosen({causal}, 128));
  CHECK(chosen({causal}, 8) == chosen({causal}, 64));
  CHECK(chosen({causal}, 136) == TileShape{128, 64});
}

TEST_CASE("programs that need registers for more than a mask get the first candidate") {
  std::vector<std::int32_t> ids(16384);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i / 1000);
  const Score scores[] = {softcap(30), alibi(8), dense_bias()};
  for (int dim : {64, 128, 256}) {
    CAPTURE(dim);
    CHECK(chosen({documents(ids)}, dim) == first(dim));
    CHECK(chosen({causal & documents(ids)}, dim) == first(dim));
    CHECK(chosen({sink_window(4, 1023)}, dim) == first(dim));
    CHECK(chosen({~window(256, 256)}, dim) == first(dim));
    for (const Mask& mask : {Mask(full), Mask(causal), window(4095, 0)}) {
      CHECK(chosen({.mask = mask, .key_lengths = true}, dim) == first(dim));
      for (const Score& score : scores) CHECK(chosen({.mask = mask, .scores = {score}}, dim) == first(dim));
    }
  }
  // Which says something, since masks alone get others.
  CHECK(chosen({causal}, 64) != first(64));
  CHECK(chosen({causal}, 128) != first(128));
}

TEST_CASE("a window by scalars is judged by their defaults") {
  const auto by_scalars = [](int left) { return window(Param<i32>{"left", left}, Param<i32>{"right", 0}); };
  for (int dim : {64, 128}) {
    CHECK(chosen({by_scalars(1023)}, dim) == chosen({window(1023, 0)}, dim));
    CHECK(chosen({by_scalars(4095)}, dim) == chosen({window(4095, 0)}, dim));
  }
}

TEST_CASE("an extent that is given is kept, and the other chosen beside it") {
  for (const Mask& mask : {Mask(causal), window(1023, 0), sink_window(4, 1023)})
    for (int dim : {64, 128, 256}) {
      CAPTURE(dim);
      CHECK(chosen({mask}, dim, {64, 48}) == TileShape{64, 48});
      CHECK(chosen({mask}, dim, {64, 0}).query == 64);
      CHECK(chosen({mask}, dim, {0, 48}).key == 48);
      CHECK(chosen({mask}, dim, {64, 0}).key != 0);
      CHECK(chosen({mask}, dim, {0, 48}).query != 0);
    }
  CHECK(chosen({causal}, 128, {0, 80}) == TileShape{192, 80});  // fewer, cheaper query tiles
  CHECK(chosen({sink_window(4, 1023)}, 128, {64, 0}) == TileShape{64, 128});
}

TEST_CASE("masks that read tables get the first candidate, whatever lengths the tables have") {
  for (int dim : {64, 128}) {
    CHECK(chosen({tree({-1})}, dim) == first(dim));
    CHECK(chosen({documents({0, 0, 1})}, dim) == first(dim));
  }
}
