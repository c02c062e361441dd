#include <tessera/library/patterns/neighborhood.h>

#include <fmt/format.h>

#include <tessera/library/patterns/grid_support.h>

namespace tessera {

using pattern::kMost;
using pattern::require;

namespace {

void check_axis(const NeighborhoodAxis& a, std::size_t i, SourceLoc loc) {
  require(a.window > 0 && a.stride > 0 && a.dilation > 0, loc,
          fmt::format("axis {} has window {}, stride {} and dilation {}", i, a.window, a.stride, a.dilation),
          "give 1 or more of each");
  require(a.window <= a.length, loc,
          fmt::format("the window of axis {} is {}, and the axis has {} tokens", i, a.window, a.length),
          fmt::format("give a window of 1 to {}", a.length));
  require(a.stride <= a.window, loc,
          fmt::format("the stride of axis {} is {}, and its window {}", i, a.stride, a.window),
          fmt::format("give a stride of 1 to {}: with a larger one a query would not see itself", a.window));
  require(a.dilation <= a.length / a.window, loc,
          fmt::format("the dilation of axis {} is {}: of its {} tokens a window of {} finds {} at that distance", i,
                      a.dilation, a.length, a.window, a.length / a.dilation),
          fmt::format("give a dilation of 1 to {}", a.length / a.window));
}

// On one axis, of places q and k among `length` tokens that are all of one class of the dilation.
Tile<i1> sees(const NeighborhoodAxis& a, Position length, Position q, Position k) {
  const std::int64_t left = a.window / 2, right = a.window - 1 - left;
  Position group = a.stride == 1 ? q : Position(q / a.stride * a.stride);
  Position leader = min(group + (a.causal ? a.stride - 1 : a.stride / 2), length - 1);
  if (a.causal) return k >= max(leader - (a.window - 1), 0) && k <= q;
  Position centre = min(max(leader, left), length - 1 - right);
  return k >= centre - left && k <= centre + right;
}

// On one axis, of coordinates q and k.
Tile<i1> sees_of_class(const NeighborhoodAxis& a, Position q, Position k) {
  if (a.dilation == 1) return sees(a, a.length, q, k);
  Position number = q % a.dilation;
  Position length = a.length % a.dilation == 0 ? Position(a.length / a.dilation)
                                               : Position((a.length - number + a.dilation - 1) / a.dilation);
  return k % a.dilation == number && sees(a, length, q / a.dilation, k / a.dilation);
}

}  // namespace

Mask neighborhood(const std::vector<NeighborhoodAxis>& axes, std::int64_t extra_keys, SourceLoc loc) {
  require(!axes.empty() && axes.size() <= 3, loc, fmt::format("the grid has {} axes", axes.size()), "give 1 to 3");
  std::vector<std::int64_t> extents;
  for (const NeighborhoodAxis& a : axes) extents.push_back(a.length);
  detail::check_grid(extents.data(), static_cast<int>(axes.size()), loc);
  for (std::size_t i = 0; i < axes.size(); ++i) check_axis(axes[i], i, loc);
  const std::int64_t tokens = pattern::tokens_of(extents);
  require(extra_keys >= 0 && extra_keys <= kMost - tokens, loc,
          fmt::format("there are {} extra keys beside {} of the grid", extra_keys, tokens),
          fmt::format("give 0 to {}", kMost - tokens));

  auto predicate = [&](Position q, Position k) -> Tile<i1> {
    const auto own = pattern::coordinates(extents, q), key = pattern::coordinates(extents, k);
    Tile<i1> near =
        pattern::on_all_axes(axes.size(), [&](std::size_t i) { return sees_of_class(axes[i], own[i], key[i]); });
    return extra_keys == 0 ? near : Tile<i1>(near || k >= tokens);
  };
  std::string of = "the grid " + pattern::text_of(extents);
  if (extra_keys != 0) of += fmt::format(" with {} extra keys", extra_keys);
  return Mask(predicate, loc)
      .named("neighborhood")
      .for_lengths(std::move(of), mask::Extent::exactly(tokens), mask::Extent::exactly(tokens + extra_keys));
}

}  // namespace tessera
