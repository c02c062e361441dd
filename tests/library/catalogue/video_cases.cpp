#include <algorithm>
#include <cmath>

#include "library/catalogue/catalogue.h"

namespace tessera::test {

namespace {

using Extents = std::vector<std::int64_t>;

// A text of some tokens before or behind a video, which sees and is seen by all; `seen` is of tokens of the video.
template <class Seen>
std::function<bool(const Pair&)> beside(const TextTokens& text, std::int64_t video, Seen seen) {
  return [=](const Pair& p) {
    const std::int64_t first = text.first ? text.count : 0;
    const auto inside = [&](std::int64_t token) { return token >= first && token < first + video; };
    return !inside(p.q) || !inside(p.k) || seen(p.q - first, p.k - first);
  };
}

void add_sliding_tiles(std::vector<CatalogueCase>& cases) {
  const auto add = [&](const Extents& grid, const Extents& tile, const Extents& window, const TextTokens& text) {
    const std::int64_t n = tokens_in(grid) + text.count;
    cases.push_back({"36 sliding tiles", sliding_tiles(grid, tile, window, text), n, n,
                     beside(text, tokens_in(grid), [=](std::int64_t q, std::int64_t k) {
                       const Extents a = place_in(grid, q), b = place_in(grid, k);
                       for (std::size_t i = 0; i < grid.size(); ++i) {
                         const std::int64_t tiles = (grid[i] + tile[i] - 1) / tile[i], l = window[i] / 2;
                         const std::int64_t r = window[i] / 2 + window[i] % 2 - 1;
                         const std::int64_t c = std::max(l, std::min(a[i] / tile[i], tiles - 1 - r)),
                                            t = b[i] / tile[i];
                         if (t < c - l || t > c + r) return false;
                       }
                       return true;
                     })});
  };
  add({8, 16}, {4, 4}, {1, 3}, {});
  add({4, 6, 6}, {2, 2, 3}, {1, 3, 2}, {10});
  add({5, 7, 4}, {2, 3, 2}, {2, 2, 1}, {3, true});
  add({100}, {10}, {4}, {});
}

struct FramePair {
  std::int64_t queries, keys;  // frames
};

// Whether token r of a frame sees token c of another, by the published rule.
bool radial_pair(std::int64_t tokens, double decay, std::int64_t block, bool sink, const FramePair& f, std::int64_t r,
                 std::int64_t c) {
  const auto bits = [](std::int64_t n) {
    int count = 0;
    for (; n > 0; n /= 2) ++count;
    return count;
  };
  const std::int64_t d = std::abs(f.queries - f.keys);
  if ((sink && f.keys == 0) || d <= 1) return true;
  const double band = std::pow(2.0, bits(tokens)) / std::pow(2.0, bits(d));
  if (band < static_cast<double>(block) && d % static_cast<std::int64_t>(static_cast<double>(block) / band) != 0)
    return false;
  return static_cast<double>(std::abs(r - c)) <= std::max(band * decay, static_cast<double>(block));
}

// The share rule of blocks, by counting every element.
std::vector<char> radial_block_map(std::int64_t frames, std::int64_t tokens, double decay, std::int64_t block,
                                   bool sink) {
  const std::int64_t n = frames * tokens, count = (n + block - 1) / block;
  std::vector<char> seen(static_cast<std::size_t>(count * count), 0);
  for (std::int64_t fi = 0; fi < frames; ++fi)
    for (std::int64_t fj = 0; fj < frames; ++fj)
      for (std::int64_t bi = 0; bi < count; ++bi)
        for (std::int64_t bj = 0; bj < count; ++bj) {
          std::int64_t live = 0, high = 0;
          for (std::int64_t k = bj * block; k < std::min(n, (bj + 1) * block); ++k) {
            std::int64_t rows = 0;
            for (std::int64_t q = bi * block; q < std::min(n, (bi + 1) * block); ++q)
              rows += q / tokens == fi && k / tokens == fj &&
                      radial_pair(tokens, decay, block, sink, {fi, fj}, q % tokens, k % tokens);
            live += rows > 0;
            high += static_cast<double>(rows) / static_cast<double>(block) > 1.0 / 3;
          }
          if (live > 0 && static_cast<double>(high) / static_cast<double>(live) > 0.6)
            seen[static_cast<std::size_t>(bi * count + bj)] = 1;
        }
  return seen;
}

void add_radial(std::vector<CatalogueCase>& cases) {
  for (const auto& [video, o] :
       {std::pair{Frames{8, 16}, Radial{.decay = 1, .block = 4}},
        {Frames{11, 9}, Radial{.decay = 0.5, .block = 2, .sink = true}},
        {Frames{13, 8}, Radial{.decay = 1, .block = 8, .text = {7}}},
        {Frames{6, 20}, Radial{.decay = 1.3, .block = 5, .sink = true, .text = {3, true}}},
        {Frames{8, 16}, Radial{.decay = 1, .block = 8, .shrink = true}},
        {Frames{5, 23}, Radial{.decay = 0.4, .block = 6, .sink = true, .shrink = true, .text = {9}}}}) {
    const std::int64_t s = video.tokens_per_frame, n = video.frames * s;
    const auto map = radial_block_map(video.frames, s, o.decay, o.block, o.sink);
    const std::int64_t count = (n + o.block - 1) / o.block;
    cases.push_back({"37 radial", radial(video, o), n + o.text.count, n + o.text.count,
                     beside(o.text, n, [=, o = o](std::int64_t q, std::int64_t k) {
                       if (!o.shrink) return radial_pair(s, o.decay, o.block, o.sink, {q / s, k / s}, q % s, k % s);
                       const std::int64_t i = q / o.block, j = k / o.block;
                       const bool last = i >= n / o.block || j >= n / o.block;  // shared with the text: seen
                       return last || map[static_cast<std::size_t>(i * count + j)] != 0;
                     })});
  }
}

void add_sparse_video(std::vector<CatalogueCase>& cases) {
  for (const auto& [video, o] : {std::pair{Frames{8, 16}, SparseVideo{.width = 2}},
                                 {Frames{5, 19}, SparseVideo{.width = 1.3, .sink = true, .text = {12}}},
                                 {Frames{9, 11}, SparseVideo{.width = 0.5, .text = {4, true}}}}) {
    const std::int64_t s = video.tokens_per_frame, f = video.frames, n = f * s;
    const TextTokens text = o.text;
    const bool sink = o.sink;
    const auto add = [&](const char* name, const Mask& mask, auto near) {
      cases.push_back({name, mask, n + text.count, n + text.count,
                       beside(text, n, [=](std::int64_t q, std::int64_t k) { return near(q, k) || (sink && k < s); })});
    };
    const double w = o.width;
    add("38 spatial head", spatial_head(video, o), [=](std::int64_t q, std::int64_t k) {
      return static_cast<double>(std::abs(q - k)) < w * static_cast<double>(s);
    });
    add("39 temporal head", temporal_head(video, o), [=](std::int64_t q, std::int64_t k) {
      return static_cast<double>(std::abs(q % s - k % s)) < w * static_cast<double>(s) / static_cast<double>(f);
    });
  }
}

}  // namespace

std::vector<CatalogueCase> video_cases() {
  std::vector<CatalogueCase> cases;
  add_sliding_tiles(cases);
  add_radial(cases);
  add_sparse_video(cases);
  return cases;
}

}  // namespace tessera::test
