#include "gpu/patterns.h"

#include <algorithm>
#include <cmath>

namespace tessera::test {

namespace {

std::int64_t shift(const Case& c) { return c.keys - c.queries; }

// Document ids of growing documents, as many as there are tokens.
std::vector<std::int32_t> ids_for(std::int64_t tokens) {
  std::vector<std::int32_t> ids;
  for (std::int32_t id = 0; static_cast<std::int64_t>(ids.size()) < tokens; ++id)
    ids.insert(ids.end(), static_cast<std::size_t>(17 + 61 * (id % 7)), id);
  ids.resize(static_cast<std::size_t>(tokens));
  return ids;
}

void window_both(Case& c) {
  c.mask = window(100, 37);
  c.allowed = [d = shift(c)](const Pair& p) { return p.k <= p.q + d + 37 && p.k >= p.q + d - 100; };
}

void documents_causal(Case& c) {
  auto ids = ids_for(std::max(c.queries, c.keys));
  c.mask = causal(Align::top_left) & documents(ids);
  c.allowed = [ids](const Pair& p) {
    return p.k <= p.q && ids[static_cast<std::size_t>(p.q)] == ids[static_cast<std::size_t>(p.k)];
  };
}

void padded_keys(Case& c) {
  c.key_lengths.clear();
  for (std::int64_t b = 0; b < c.batch; ++b)
    c.key_lengths.push_back(c.keys - std::min<std::int64_t>(c.keys, 1 + 70 * b));
}

void softcap_alibi(Case& c) {
  c.scores = {softcap(5), alibi(static_cast<int>(c.heads), Align::top_left)};
  c.mask = causal(Align::top_left);
  c.allowed = [](const Pair& p) { return p.k <= p.q; };
  const std::vector<float> slopes = alibi_slopes(static_cast<int>(c.heads));
  c.score = [slopes](const Pair& p, double s) {
    return 5 * std::tanh(s / 5) - slopes[static_cast<std::size_t>(p.head)] * std::abs(static_cast<double>(p.q - p.k));
  };
}

void strided_or_recent(Case& c) {
  c.mask = [](Position q, Position k) { return k <= q && (q - k < 40 || (q - k) % 64 == 0); };
  c.allowed = [](const Pair& p) { return p.k <= p.q && (p.q - p.k < 40 || (p.q - p.k) % 64 == 0); };
}

// A grid of two axes with so many tokens.
Grid<2> grid_of(std::int64_t tokens) {
  std::int64_t rows = 1;
  for (std::int64_t n = 2; n * n <= tokens; ++n)
    if (tokens % n == 0) rows = n;
  return Grid{rows, tokens / rows};
}

void neighborhood_with_extra_keys(Case& c) {
  c.keys = std::max(c.keys, c.queries);  // what there are more of is extra keys
  const Grid<2> grid = grid_of(c.queries);
  const std::int64_t height = std::min<std::int64_t>(grid.extents[0], 5),
                     width = std::min<std::int64_t>(grid.extents[1], 12);
  c.mask = neighborhood(grid, {.window = {height, width},
                               .stride = {1, std::min<std::int64_t>(width, 4)},
                               .causal = {true, false},
                               .extra_keys = c.keys - c.queries});
  const auto sees = [](std::int64_t n, std::int64_t w, std::int64_t s, bool causal, std::int64_t q, std::int64_t k) {
    const std::int64_t base = q / s * s, leader = std::min(base + (causal ? s - 1 : s / 2), n - 1);
    if (causal) return k >= leader - w + 1 && k <= q;
    const std::int64_t centre = std::min(std::max(leader, w / 2), n - w + w / 2);
    return k >= centre - w / 2 && k < centre - w / 2 + w;
  };
  c.allowed = [=, tokens = c.queries](const Pair& p) {
    const std::int64_t across = grid.extents[1];
    return p.k >= tokens || (sees(grid.extents[0], height, 1, true, p.q / across, p.k / across) &&
                             sees(across, width, std::min<std::int64_t>(width, 4), false, p.q % across, p.k % across));
  };
}

void shifted_windows(Case& c) {
  c.keys = c.queries;
  const Grid<2> grid = grid_of(c.queries);
  const std::int64_t m = std::min<std::int64_t>(grid.extents[0], 7), across = grid.extents[1];
  c.mask = swin(grid, {.window = m, .shift = m / 2});
  c.allowed = [=](const Pair& p) {
    const auto same = [m](std::int64_t q, std::int64_t k) { return (q + m - m / 2) / m == (k + m - m / 2) / m; };
    return same(p.q / across, p.k / across) && same(p.q % across, p.k % across);
  };
}

void bigbird_by_head(Case& c) {
  c.keys = c.queries;
  const BigBird o{.block = 32, .random = 2, .heads = 2, .seed = 3};
  c.mask = bigbird(c.queries, o);
  const auto lists = bigbird_blocks(c.queries, o);
  const std::int64_t n = (c.queries + 31) / 32;
  c.allowed = [=](const Pair& p) {
    const std::int64_t i = p.q / 32, j = p.k / 32;
    const auto& random = lists[static_cast<std::size_t>(p.head % 2 * n + i)];
    return std::abs(i - j) <= 1 || i == 0 || j == 0 || i == n - 1 || j == n - 1 ||
           std::count(random.begin(), random.end(), j) != 0;
  };
}

void mixed_heads(Case& c) {
  std::vector<int> choice;
  for (std::int64_t h = 0; h < c.heads; ++h) choice.push_back(static_cast<int>(h % 3));
  c.mask = per_head({causal, dilated_window(20, 3), sparse_fixed({.block = 64, .columns = 4})}, choice);
  c.allowed = [d = shift(c)](const Pair& p) {
    const std::int64_t own = p.q + d, back = own - p.k;
    if (p.head % 3 == 0) return back >= 0;
    if (p.head % 3 == 1) return std::abs(back) <= 60 && back % 3 == 0;
    const std::int64_t block = own >= 0 ? own / 64 : -1;
    return back >= 0 && (block == p.k / 64 || p.k % 64 >= 60);
  };
}

void tree_of_guesses(Case& c) {
  c.queries = std::min<std::int64_t>(c.queries, 200);
  c.keys = std::max(c.keys, c.queries);
  std::vector<int> parent;
  for (int i = 0; i < c.queries; ++i) parent.push_back(i % 50 == 0 ? -1 : (i * 31 + 7) % i);
  c.mask = tree(parent);
  c.allowed = [parent, before = shift(c)](const Pair& p) {
    std::int64_t node = p.q;
    while (node >= 0 && node != p.k - before) node = parent[static_cast<std::size_t>(node)];
    return p.k < before || node >= 0;
  };
}

}  // namespace

const std::vector<PatternCase>& pattern_cases() {
  static const std::vector<PatternCase> cases = {
      {"full", [](Case&) {}},
      {"causal",
       [](Case& c) {
         c.mask = causal;
         c.allowed = [d = shift(c)](const Pair& p) { return p.k <= p.q + d; };
       }},
      {"causal top-left",
       [](Case& c) {
         c.mask = causal(Align::top_left);
         c.allowed = [](const Pair& p) { return p.k <= p.q; };
       }},
      {"window", window_both},
      {"causal window",
       [](Case& c) {
         c.mask = window(256, 0);
         c.allowed = [d = shift(c)](const Pair& p) { return p.k <= p.q + d && p.k >= p.q + d - 256; };
       }},
      {"prefix",
       [](Case& c) {
         c.mask = prefix(200);
         c.allowed = [d = shift(c)](const Pair& p) { return p.k < 200 || p.k <= p.q + d; };
       }},
      {"sinks and window",
       [](Case& c) {
         c.mask = sink_window(4, 150);
         c.allowed = [d = shift(c)](const Pair& p) { return p.k <= p.q + d && (p.k < 4 || p.k >= p.q + d - 150); };
       }},
      {"block-diagonal",
       [](Case& c) {
         c.mask = block_diagonal(192, Align::top_left);
         c.allowed = [](const Pair& p) { return p.q / 192 == p.k / 192; };
       }},
      {"documents, causal", documents_causal},
      {"key lengths", padded_keys},
      {"soft cap and ALiBi", softcap_alibi},
      {"strided or recent", strided_or_recent},
      {"not the window",
       [](Case& c) {
         c.mask = ~window(64, 64);
         c.allowed = [d = shift(c)](const Pair& p) { return p.k > p.q + d + 64 || p.k < p.q + d - 64; };
       }},
      {"neighborhood", neighborhood_with_extra_keys},
      {"shifted windows", shifted_windows},
      {"BigBird", bigbird_by_head},
      {"mixed heads", mixed_heads},
      {"tree", tree_of_guesses},
  };
  return cases;
}

}  // namespace tessera::test
