#include "library/catalogue/catalogue.h"

namespace tessera::test {

namespace {

void add_windows(std::vector<CatalogueCase>& cases, const Sizes& s) {
  const auto add = [&](const std::string& name, const Mask& mask, auto live) {
    cases.push_back({name, mask, s.queries, s.keys, live});
  };
  add("1 full", full, [](const Pair&) { return true; });
  add("2 causal", causal, [=](const Pair& p) { return p.k <= p.q + (s.keys - s.queries); });
  add("2 causal top-left", causal(Align::top_left), [](const Pair& p) { return p.k <= p.q; });
  for (int w : {0, 5, 40})
    add("3 window, two-sided", window(w, w), [=](const Pair& p) { return std::abs(s.own(p) - p.k) <= w; });
  for (int width : {1, 17, 64})  // keys, the query's own counted
    add("4 window, causal", window(width - 1, 0),
        [=](const Pair& p) { return 0 <= s.own(p) - p.k && s.own(p) - p.k < width; });
  for (int length : {0, 33})
    add("9 prefix", prefix(length), [=](const Pair& p) { return p.k < length || p.k <= s.own(p); });
  for (auto [count, width] : {std::pair{4, 20}, {0, 1}, {40, 12}})
    add("13 sinks", sink_window(count, width - 1), [=, count = count, width = width](const Pair& p) {
      return p.k <= s.own(p) && (p.k < count || s.own(p) - p.k < width);
    });
  for (auto [count, width, last] : {std::array{4, 16, 10}, {0, 1, 64}, {30, 30, 0}})
    add("15 tri-shape", tri_shape({.sinks = count, .left = width - 1, .last = last}),
        [=, count = count, width = width, last = last](const Pair& p) {
          return p.k <= s.own(p) && (p.k < count || s.own(p) - p.k < width || p.q >= s.queries - last);
        });
}

void add_by_sequence(std::vector<CatalogueCase>& cases) {
  const Sizes s{70, 90};
  const std::vector<int> lengths{0, 33, 90};
  cases.push_back({"9 prefix of each sequence", prefix(lengths), s.queries, s.keys,
                   [=](const Pair& p) { return p.k < lengths[p.batch] || p.k <= s.own(p); }, 1, 3});
  cases.push_back(
      {"29 padding", padding(lengths), s.queries, s.keys, [=](const Pair& p) { return p.k < lengths[p.batch]; }, 1, 3});
}

void add_by_head(std::vector<CatalogueCase>& cases, const Sizes& s) {
  const std::vector<int> choice{2, 0, 1, 0};
  const Mask mixed = per_head({causal, sink_window(3, 9), window(4, 4)}, choice);
  cases.push_back({"30 per head", mixed, s.queries, s.keys,
                   [=](const Pair& p) {
                     const std::int64_t back = s.own(p) - p.k;
                     if (choice[p.head] == 0) return back >= 0;
                     if (choice[p.head] == 1) return back >= 0 && (p.k < 3 || back < 10);
                     return std::abs(back) <= 4;
                   },
                   4});
}

void add_rings(std::vector<CatalogueCase>& cases) {
  for (int query_rank : {0, 1, 2})
    for (int key_rank : {0, 2}) {
      const Ring o{.tokens = 250, .ranks = 3, .query_rank = query_rank, .key_rank = key_rank};
      const std::int64_t run = 84;  // 84, 84 and 82 tokens
      cases.push_back({"26 ring", ring(window(100, 0), o), query_rank == 2 ? 82 : run, key_rank == 2 ? 82 : run,
                       [=](const Pair& p) {
                         const std::int64_t q = query_rank * run + p.q, k = key_rank * run + p.k;
                         return k <= q && q - k <= 100;
                       }});
    }
  const std::vector<std::int32_t> ids = document_ids({30, 100, 70});
  cases.push_back({"26 ring of documents", ring(documents(ids), {.tokens = 200, .ranks = 2, .query_rank = 1}), 100, 100,
                   [=](const Pair& p) { return ids[p.q + 100] == ids[p.k]; }});
  for (int query_rank : {0, 2})
    for (int key_rank : {1, 2}) {
      const Ring o{.tokens = 240, .ranks = 3, .query_rank = query_rank, .key_rank = key_rank, .zigzag = true};
      const auto global = [](std::int64_t rank, std::int64_t local) {  // runs of 40: r and 5 - r
        return local < 40 ? rank * 40 + local : (5 - rank) * 40 + local - 40;
      };
      cases.push_back({"26 ring, zigzag", ring(causal, o), 80, 80,
                       [=](const Pair& p) { return global(key_rank, p.k) <= global(query_rank, p.q); }});
    }
}

}  // namespace

std::vector<CatalogueCase> basic_cases() {
  std::vector<CatalogueCase> cases;
  for (const Sizes& s : kSizes) add_windows(cases, s);
  add_by_sequence(cases);
  for (const Sizes& s : {Sizes{97, 97}, {60, 131}}) add_by_head(cases, s);
  add_rings(cases);
  return cases;
}

}  // namespace tessera::test
