#include "library/catalogue/catalogue.h"

namespace tessera::test {

namespace {

bool power_of_two(std::int64_t n) {
  while (n > 1 && n % 2 == 0) n /= 2;
  return n == 1;
}

void add_strides(std::vector<CatalogueCase>& cases, const Sizes& s) {
  const auto add = [&](const std::string& name, const Mask& mask, auto live) {
    cases.push_back({name, mask, s.queries, s.keys, live});
  };
  for (auto [w, d] : {std::pair{8, 4}, {3, 1}, {0, 5}, {20, 3}})
    add("5 dilated window", dilated_window(w, d), [=, w = w, d = d](const Pair& p) {
      return std::abs(s.own(p) - p.k) <= w * d && remainder(s.own(p) - p.k, d) == 0;
    });
  for (int stride : {1, 7, 16}) {
    add("23 strided", strided(stride), [=](const Pair& p) { return remainder(s.own(p) - p.k, stride) == 0; });
    using enum SparseTransformer;
    const auto back = [=](const Pair& p) { return s.own(p) - p.k; };
    add("19 Sparse Transformer, strided", sparse_strided(stride),
        [=](const Pair& p) { return back(p) >= 0 && (back(p) < stride || back(p) % stride == 0); });
    add("19 the same, local", sparse_strided(stride, local),
        [=](const Pair& p) { return back(p) >= 0 && back(p) < stride; });
    add("19 the same, column", sparse_strided(stride, column),
        [=](const Pair& p) { return back(p) >= 0 && back(p) % stride == 0; });
  }
  for (auto [b, stride, o] : {std::array{32, 4, 0}, {20, 3, 2}, {50, 1, 0}})
    add("24 strided block-local", strided_blocks({.block = b, .stride = stride, .offset = o}),
        [=, b = b, stride = stride, o = o](const Pair& p) {
          return quotient(s.own(p), b) == p.k / b && remainder(s.own(p), stride) == o && p.k % stride == o;
        });
}

void add_fixed(std::vector<CatalogueCase>& cases, const Sizes& s) {
  for (auto [l, c, groups] : {std::array{32, 4, 1}, {16, 3, 4}, {20, 20, 1}}) {
    const auto parts = [=, l = l, c = c, groups = groups](const Pair& p) {
      const std::int64_t v = p.head % groups, column = p.k % l;
      return std::pair{quotient(s.own(p), l) == p.k / l, column >= l - c * (v + 1) && column < l - c * v};
    };
    const SparseFixed o{.block = l, .columns = c, .groups = groups};
    const auto add = [&](const char* name, SparseTransformer part, auto live) {
      cases.push_back({name, sparse_fixed(o, part), s.queries, s.keys,
                       [=](const Pair& p) { return p.k <= s.own(p) && live(parts(p)); }, 4});
    };
    add("20 Sparse Transformer, fixed", SparseTransformer::both, [](auto p) { return p.first || p.second; });
    add("20 the same, local", SparseTransformer::local, [](auto p) { return p.first; });
    add("20 the same, column", SparseTransformer::column, [](auto p) { return p.second; });
  }
}

void add_logarithms(std::vector<CatalogueCase>& cases, const Sizes& s) {
  for (auto [local, restart] : {std::pair{1, 0}, {5, 0}, {3, 20}, {1, 32}})
    cases.push_back({"21 LogSparse", log_sparse(140, {.local = local, .restart = restart}), s.queries, s.keys,
                     [=, local = local, restart = restart](const Pair& p) {
                       std::int64_t back = s.own(p) - p.k;
                       if (back < 0) return false;
                       if (restart) back %= restart;
                       return back == 0 || back < local || power_of_two(back);
                     }});
}

void add_longnet(std::vector<CatalogueCase>& cases) {
  for (const LongNet& o : {LongNet{.segment = 32, .dilation = 4, .heads = 6},
                           LongNet{.segment = 30, .dilation = 4, .heads = 6, .causal = true},
                           LongNet{.segment = 50, .dilation = 3, .heads = 6, .heads_in_turn = true},
                           LongNet{.segment = 64, .dilation = 1, .heads = 6}})
    for (std::int64_t n : {128, 97})
      cases.push_back(
          {"25 LongNet", longnet(o), n, n,
           [=](const Pair& p) {
             const std::int64_t w = o.segment, r = o.dilation;
             const std::int64_t group = (o.heads + r - 1) / r;  // heads padded to a multiple of r, split in r
             const std::int64_t first = o.heads_in_turn ? p.head % r : p.head / group;
             return p.q / w == p.k / w && p.q % w % r == first && p.k % w % r == first && (!o.causal || p.k <= p.q);
           },
           6});
}

}  // namespace

std::vector<CatalogueCase> strided_cases() {
  std::vector<CatalogueCase> cases;
  for (const Sizes& s : kSizes) {
    add_strides(cases, s);
    add_logarithms(cases, s);
  }
  for (const Sizes& s : {Sizes{128, 128}, {97, 97}, {60, 131}}) add_fixed(cases, s);
  const std::vector<int> dilations{1, 3, 2, 8};
  const Sizes s{97, 110};
  cases.push_back({"5 dilated window, by head", dilated_window(6, dilations), s.queries, s.keys,
                   [=](const Pair& p) {
                     const std::int64_t d = dilations[p.head], away = s.own(p) - p.k;
                     return std::abs(away) <= 6 * d && remainder(away, d) == 0;
                   },
                   4});
  add_longnet(cases);
  return cases;
}

}  // namespace tessera::test
