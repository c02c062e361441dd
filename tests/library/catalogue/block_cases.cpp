#include <algorithm>

#include "library/catalogue/catalogue.h"

namespace tessera::test {

namespace {

void add_blocks(std::vector<CatalogueCase>& cases, const Sizes& s) {
  const auto add = [&](const std::string& name, const Mask& mask, auto live) {
    cases.push_back({name, mask, s.queries, s.keys, live});
  };
  for (int b : {1, 16, 48}) {
    const auto block = [=](std::int64_t token) { return quotient(token, b); };
    const auto blocked_live = [=](const Pair& p) {
      return (block(s.own(p)) - 1) * b <= p.k && p.k < (block(s.own(p)) + 1) * b;
    };
    add("6 blocked", blocked(b), blocked_live);
    add("6 blocked, causal", causal & blocked(b), [=](const Pair& p) { return blocked_live(p) && p.k <= s.own(p); });
    add("7 block-diagonal", block_diagonal(b), [=](const Pair& p) { return block(s.own(p)) == block(p.k); });
    add("7 block-diagonal, causal", causal & block_diagonal(b),
        [=](const Pair& p) { return block(s.own(p)) == block(p.k) && p.k <= s.own(p); });
    add("11 block-causal", block_causal(b), [=](const Pair& p) { return block(p.k) <= block(s.own(p)); });
  }
}

void add_padded(std::vector<CatalogueCase>& cases) {
  const Sizes s{70, 90};
  const std::vector<int> padding{0, 5, 40};
  cases.push_back({"7 chunked behind padding", causal & block_diagonal(16, padding), s.queries, s.keys,
                   [=](const Pair& p) {
                     const std::int64_t pad = padding[p.batch];
                     return quotient(s.own(p) - pad, 16) == quotient(p.k - pad, 16) && p.k <= s.own(p);
                   },
                   1, 3});
}

void add_diffusion(std::vector<CatalogueCase>& cases) {
  for (auto [length, b] : {std::pair{64, 16}, {50, 7}, {33, 33}}) {
    cases.push_back(
        {"12 block diffusion", block_diffusion(length, b), 2 * length, 2 * length, [L = length, b = b](const Pair& p) {
           const auto x = (p.q % L) / b, y = (p.k % L) / b;
           const bool nq = p.q < L, nk = p.k < L;
           return (x == y && nq == nk) || (x > y && nq && !nk) || (x >= y && !nq && !nk);
         }});
  }
}

void add_bigbird(std::vector<CatalogueCase>& cases) {
  for (const auto& [tokens, o] :
       {std::pair{128, BigBird{.block = 8, .random = 3, .heads = 2, .seed = 5}},
        {101, BigBird{.block = 8, .random = 1, .heads = 1, .seed = 1}},
        {40, BigBird{.block = 8, .random = 3, .heads = 1, .seed = 2}},  // fewer others than asked for
        {96, BigBird{.block = 16, .random = 0, .heads = 1, .seed = 0}}}) {
    const auto lists = bigbird_blocks(tokens, o);
    const std::int64_t n = (tokens + o.block - 1) / o.block;
    cases.push_back({"18 BigBird", bigbird(tokens, o), tokens, tokens,
                     [=, b = o.block, heads = o.heads](const Pair& p) {
                       const std::int64_t i = p.q / b, j = p.k / b;
                       const auto& random = lists[static_cast<std::size_t>(p.head % heads * n + i)];
                       return std::abs(i - j) <= 1 || i == 0 || i == n - 1 || j == 0 || j == n - 1 ||
                              std::count(random.begin(), random.end(), j) != 0;
                     },
                     2});
  }
}

void add_local_stride(std::vector<CatalogueCase>& cases, const Sizes& s) {
  for (const LocalStride& o : {LocalStride{.block = 8, .local = 3, .stride = 4, .heads = 4},
                               LocalStride{.block = 5, .local = 1, .stride = 3, .heads = 2, .group = 2, .offset = 4},
                               LocalStride{.block = 8, .local = 2, .stride = 8, .heads = 1}}) {
    const std::int64_t step = std::max(1, o.stride / o.heads);
    cases.push_back({"22 local + vertical stride", local_stride(o), s.queries, s.keys,
                     [=](const Pair& p) {
                       const std::int64_t i = quotient(s.own(p), o.block), j = p.k / o.block;
                       const std::int64_t h = p.head / o.group % o.heads;
                       return p.k <= s.own(p) && (i - j < o.local || (j + h * step + o.offset) % o.stride == 0);
                     },
                     4});
  }
}

}  // namespace

std::vector<CatalogueCase> block_cases() {
  std::vector<CatalogueCase> cases;
  for (const Sizes& s : kSizes) add_blocks(cases, s);
  add_padded(cases);
  add_diffusion(cases);
  add_bigbird(cases);
  for (const Sizes& s : {Sizes{128, 128}, {97, 97}, {60, 131}}) add_local_stride(cases, s);
  return cases;
}

}  // namespace tessera::test
