#include "library/catalogue/catalogue.h"

namespace tessera::test {

namespace {

void add_documents(std::vector<CatalogueCase>& cases) {
  for (const std::vector<std::int64_t>& lengths : {std::vector<std::int64_t>{64, 64}, {30, 1, 0, 70, 26}, {97}}) {
    const std::vector<std::int32_t> ids = document_ids(lengths);
    const auto n = static_cast<std::int64_t>(ids.size());
    cases.push_back({"8 documents", documents(ids), n, n, [=](const Pair& p) { return ids[p.q] == ids[p.k]; }});
    cases.push_back({"8 documents, causal", causal & documents(ids), n, n,
                     [=](const Pair& p) { return ids[p.q] == ids[p.k] && p.k <= p.q; }});
    std::vector<std::int32_t> first, end;  // the same, by offsets
    std::int32_t begin = 0;
    for (std::int64_t length : lengths) {
      first.insert(first.end(), static_cast<std::size_t>(length), begin);
      begin += static_cast<std::int32_t>(length);
      end.insert(end.end(), static_cast<std::size_t>(length), begin);
    }
    cases.push_back(
        {"8 documents by ranges", key_ranges(first, end), n, n, [=](const Pair& p) { return ids[p.q] == ids[p.k]; }});
  }
  // Ranges of another number of keys, among them empty ones.
  const std::vector<std::int32_t> first{0, 10, 30, 5, 80, 7}, end{50, 90, 30, 4, 90, 8};
  cases.push_back(
      {"8 ranges", key_ranges(first, end), 6, 90, [=](const Pair& p) { return first[p.q] <= p.k && p.k < end[p.q]; }});
}

void add_prefixes(std::vector<CatalogueCase>& cases) {
  for (const SharedPrefix& o :
       {SharedPrefix{{40, 30, 17, 41}, {-1, 0, 0, 0}}, SharedPrefix{{20, 9, 35, 33}, {-1, 0, -1, 2}}}) {
    std::vector<std::int64_t> begin, text;  // of a text; of a token
    for (std::size_t i = 0; i < o.lengths.size(); ++i) {
      begin.push_back(static_cast<std::int64_t>(text.size()));
      text.insert(text.end(), static_cast<std::size_t>(o.lengths[i]), static_cast<std::int64_t>(i));
    }
    const auto n = static_cast<std::int64_t>(text.size());
    cases.push_back({"10 shared prefix", shared_prefix(o), n, n, [=](const Pair& p) {
                       const std::int64_t own = text[p.q];
                       return (p.k >= begin[own] && p.k <= p.q) || text[p.k] == o.prefix[own];
                     }});
  }
}

void add_trees(std::vector<CatalogueCase>& cases) {
  std::vector<int> chain, wide, random;
  for (int i = 0; i < 40; ++i) {
    chain.push_back(i - 1);
    wide.push_back(i == 0 ? -1 : 0);
    random.push_back(i % 13 == 0 ? -1 : (i * 7 + 3) % i);
  }
  for (const std::vector<int>& parent : {chain, wide, random})
    for (std::int64_t before : {0, 90}) {
      const auto n = static_cast<std::int64_t>(parent.size());
      cases.push_back({"27 tree", tree(parent), n, before + n, [=](const Pair& p) {
                         if (p.k < before) return true;
                         std::int64_t node = p.q;
                         while (node >= 0 && node != p.k - before) node = parent[node];
                         return node >= 0;
                       }});
    }
}

void add_images(std::vector<CatalogueCase>& cases) {
  for (const ImageIntervals& o : {ImageIntervals{32, {0, 20, 20, 90}, {20, 50, 90, 128}},
                                  ImageIntervals{7, {5, 30, 60}, {30, 60, 60}}, ImageIntervals{1, {0, 3}, {9, 90}}})
    for (std::int64_t queries : {128, 61})
      cases.push_back({"28 image intervals", image_intervals(o), queries,
                       static_cast<std::int64_t>(o.first.size()) * o.keys_per_image, [=](const Pair& p) {
                         const std::int64_t image = p.k / o.keys_per_image;
                         return o.first[image] <= p.q && p.q < o.end[image];
                       }});
}

void add_globals(std::vector<CatalogueCase>& cases) {
  for (const Sizes& s : {Sizes{128, 128}, {97, 97}, {60, 131}, {131, 60}}) {
    for (auto [w, count] : {std::pair{16, 4}, {0, 0}, {3, 70}})
      cases.push_back(
          {"16 global + window", global_window(w, count), s.queries, s.keys,
           [w = w, count = count](const Pair& p) { return std::abs(p.q - p.k) <= w || p.q < count || p.k < count; }});
    for (int hub : {0, 50})
      cases.push_back({"17 star", star(hub), s.queries, s.keys,
                       [=](const Pair& p) { return std::abs(p.q - p.k) <= 1 || p.q == hub || p.k == hub; }});
  }
  for (std::int64_t n : {128, 97}) {
    std::vector<int> flags(static_cast<std::size_t>(n), 0);
    flags[0] = flags[13] = flags[static_cast<std::size_t>(n) - 1] = 1;
    cases.push_back({"16 global + window, by flags", global_window(9, flags), n, n,
                     [=](const Pair& p) { return std::abs(p.q - p.k) <= 9 || flags[p.q] || flags[p.k]; }});
  }
}

// Tiles of sequences differ, and there is one head: a list of each sequence's.
void add_by_sequence(std::vector<CatalogueCase>& cases) {
  const Table<i32> step(std::vector<int>{3, 5, 3});
  cases.push_back({"23 strided, by sequence",
                   [=](Position q, Position k, At at) { return (q - k) % step[at.batch] == 0; }, 70, 90,
                   [](const Pair& p) { return remainder(p.q - p.k, p.batch == 1 ? 5 : 3) == 0; }, 1, 3});
  cases.push_back({"22 blocks in turn, by sequence",
                   [](Position q, Position k, At at) { return (q / 16 + k / 16 + at.batch) % 3 == 0; }, 70, 90,
                   [](const Pair& p) { return (p.q / 16 + p.k / 16 + p.batch) % 3 == 0; }, 1, 3});
}

}  // namespace

std::vector<CatalogueCase> packed_cases() {
  std::vector<CatalogueCase> cases;
  add_documents(cases);
  add_prefixes(cases);
  add_trees(cases);
  add_images(cases);
  add_globals(cases);
  add_by_sequence(cases);
  return cases;
}

}  // namespace tessera::test
