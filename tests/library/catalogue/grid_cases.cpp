#include <algorithm>

#include "library/catalogue/catalogue.h"
#include "library/catalogue/neighborhood_rule.h"

namespace tessera::test {

namespace {

using Extents = std::vector<std::int64_t>;

// Whether `near(axis, q, k)` holds for the coordinates of a pair on every axis.
template <class Near>
bool on_every_axis(const Extents& grid, const Pair& p, const Near& near) {
  const Extents q = place_in(grid, p.q), k = place_in(grid, p.k);
  for (std::size_t i = 0; i < grid.size(); ++i)
    if (!near(i, q[i], k[i])) return false;
  return true;
}

void add_neighborhoods(std::vector<CatalogueCase>& cases) {
  const auto add = [&](const std::vector<AxisRule>& rules, std::int64_t extra) {
    Extents grid;
    std::vector<NeighborhoodAxis> axes;
    for (const AxisRule& r : rules) {
      grid.push_back(r.length);
      axes.push_back({r.length, r.window, r.stride, r.dilation, r.causal});
    }
    const std::int64_t tokens = tokens_in(grid);
    cases.push_back({"31 neighborhood", neighborhood(axes, extra), tokens, tokens + extra,
                     [=](const Pair& p) {
                       return p.k >= tokens || on_every_axis(grid, p, [&](std::size_t i, auto q, auto k) {
                                return rules[i].sees(q, k);
                              });
                     },
                     2});
  };
  add({{128, 16}}, 0);
  add({{97, 33, 8}}, 0);
  add({{97, 12, 4, 3}}, 5);
  add({{128, 9, 9, 1, true}}, 0);
  add({{101, 10, 4, 7, true}}, 0);
  add({{97, 97}}, 0);
  add({{16, 5}, {8, 4}}, 0);
  add({{11, 4, 2}, {13, 6, 3}}, 17);
  add({{9, 2, 2, 2}, {12, 3, 1, 4, true}}, 0);
  add({{4, 2}, {6, 3}, {8, 4, 2}}, 8);
  add({{3, 2, 1, 1, true}, {5, 4, 3}, {9, 3, 2, 2}}, 0);
}

// The same by the options of grids whose rank is known to the compiler.
void add_typed_neighborhoods(std::vector<CatalogueCase>& cases) {
  const Grid<3> video{4, 6, 5};
  const std::vector<AxisRule> rules{{4, 2, 1, 1, true}, {6, 4, 2, 1}, {5, 3, 3, 1}};
  cases.push_back({"31 neighborhood of a video",
                   neighborhood(video, {.window = {2, 4, 3}, .stride = {1, 2, 3}, .causal = {true, false, false}}), 120,
                   120, [=](const Pair& p) {
                     return on_every_axis({4, 6, 5}, p,
                                          [&](std::size_t i, auto q, auto k) { return rules[i].sees(q, k); });
                   }});
  cases.push_back({"31 neighborhood, one value for all axes", neighborhood(Grid{10, 12}, {.window = 3, .dilation = 2}),
                   120, 120, [](const Pair& p) {
                     return on_every_axis({10, 12}, p, [&](std::size_t i, auto q, auto k) {
                       return AxisRule{i == 0 ? 10 : 12, 3, 1, 2}.sees(q, k);
                     });
                   }});
}

void add_windows(std::vector<CatalogueCase>& cases) {
  for (const auto& [grid, m] : {std::pair{Extents{14, 14}, 7}, {Extents{9, 11}, 4}, {Extents{3, 6, 5}, 3}}) {
    const Extents window(grid.size(), m), none(grid.size(), 0), shift(grid.size(), m / 2);
    const std::int64_t n = tokens_in(grid);
    cases.push_back({"32 Swin", swin(grid, window, none), n, n, [grid = grid, m = m](const Pair& p) {
                       return on_every_axis(grid, p, [&](std::size_t, auto q, auto k) { return q / m == k / m; });
                     }});
    cases.push_back({"33 Swin, shifted", swin(grid, window, shift), n, n, [grid = grid, m = m](const Pair& p) {
                       return on_every_axis(grid, p, [&](std::size_t, auto q, auto k) {
                         return (q + m - m / 2) / m == (k + m - m / 2) / m;
                       });
                     }});
  }
  for (const auto& [grid, b, h] : {std::tuple{Extents{16, 8}, 4, 1}, {Extents{9, 13}, 4, 3}, {Extents{10, 10}, 3, 0}}) {
    const std::int64_t n = tokens_in(grid);
    cases.push_back({"34 HaloNet", halo(grid, {b, b}, {h, h}), n, n, [grid = grid, b = b, h = h](const Pair& p) {
                       return on_every_axis(grid, p, [&](std::size_t, auto q, auto k) {
                         const std::int64_t origin = q / b * b;
                         return origin - h <= k && k < origin + b + h;
                       });
                     }});
  }
}

void add_axes(std::vector<CatalogueCase>& cases) {
  for (const Grid<2>& image : {Grid{8, 16}, Grid{9, 11}}) {
    const Extents grid{image.extents.begin(), image.extents.end()};
    const std::int64_t n = image.tokens();
    const auto row = [=](const Pair& p) { return place_in(grid, p.q)[0] == place_in(grid, p.k)[0]; };
    const auto column = [=](const Pair& p) { return place_in(grid, p.q)[1] == place_in(grid, p.k)[1]; };
    cases.push_back({"35 axial, row", along(image, {1}), n, n, row});
    cases.push_back({"35 axial, column", along(image, {0}), n, n, column});
    cases.push_back({"35 axial, either", axial(image), n, n, [=](const Pair& p) { return row(p) || column(p); }});
    cases.push_back({"35 axial, by head", per_head({along(image, {1}), along(image, {0})}, {0, 1}), n, n,
                     [=](const Pair& p) { return p.head == 0 ? row(p) : column(p); }, 2});
  }
  for (const Grid<3>& video : {Grid{4, 4, 8}, Grid{3, 5, 7}}) {
    const Extents grid{video.extents.begin(), video.extents.end()};
    const std::int64_t n = video.tokens();
    const auto same = [=](const Pair& p, std::size_t i) { return place_in(grid, p.q)[i] == place_in(grid, p.k)[i]; };
    cases.push_back({"40 spatial", spatial(video), n, n, [=](const Pair& p) { return same(p, 0); }});
    cases.push_back({"40 temporal", temporal(video), n, n, [=](const Pair& p) { return same(p, 1) && same(p, 2); }});
    cases.push_back({"35 axial of a video", axial(video), n, n,
                     [=](const Pair& p) { return same(p, 0) + same(p, 1) + same(p, 2) >= 2; }});
  }
}

}  // namespace

std::vector<CatalogueCase> grid_cases() {
  std::vector<CatalogueCase> cases;
  add_neighborhoods(cases);
  add_typed_neighborhoods(cases);
  add_windows(cases);
  add_axes(cases);
  return cases;
}

}  // namespace tessera::test
