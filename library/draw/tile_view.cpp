#include <tessera/library/draw/tile_view.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <tessera/dsl/mask/planner.h>

namespace tessera::draw {

namespace {

constexpr std::int64_t kMostBoxes = 1 << 24;

int box(double tokens) { return static_cast<int>(std::max(std::ceil(tokens), 1.0)); }

}  // namespace

std::int64_t TileView::count(Kind kind) const { return std::count(kinds.begin(), kinds.end(), kind); }

TileView tile_view(const mask::Pointwise& predicate, const ViewRequest& r) {
  mask::check_lengths(predicate, r.queries, r.keys, predicate.loc);
  TileView view{r.queries, r.keys, r.query_tile, r.key_tile, 0, 0, {}, {}, {}};
  view.rows = (r.queries + r.query_tile - 1) / r.query_tile;
  view.columns = (r.keys + r.key_tile - 1) / r.key_tile;
  if (view.columns > 0 && view.rows > kMostBoxes / view.columns) {
    throw UserError({}, fmt::format("a picture of {} x {} tiles has more than {}", view.rows, view.columns, kMostBoxes),
                    "draw larger tiles");
  }
  mask::PlanRequest request;
  request.query_length = r.queries, request.key_length = r.keys;
  request.heads = r.head + 1, request.batch = r.batch + 1;
  request.query_tile = r.query_tile, request.key_tile = r.key_tile;
  request.allow_spans = false;
  const mask::Plan plan = mask::make_plan(predicate, request);
  mask::check_supported(plan);
  const mask::Source& source = plan.passes[0].sources[0];
  view.query_order = to_string(plan.passes[0].queries);
  view.key_order = to_string(source.keys);
  view.kinds.assign(static_cast<std::size_t>(view.rows * view.columns), Kind::empty);
  const auto& list = std::get<mask::TileList>(source.schedule);
  const std::int64_t of =
      list.class_of.empty() ? 0 : list.class_of[static_cast<std::size_t>(r.batch * request.heads + r.head)];
  for (std::int64_t place = 0; place < view.rows; ++place) {
    const mask::TileList::Row row = list.row(static_cast<std::size_t>(of * view.rows + place));
    for (std::int32_t i = 0; i < row.partials + row.fulls; ++i) {
      const std::int64_t at = row.query_tile * view.columns + list.tiles[static_cast<std::size_t>(row.first + i)];
      view.kinds[static_cast<std::size_t>(at)] = i < row.partials ? Kind::partial : Kind::full;
    }
  }
  return view;
}

TileView scaled_view(const mask::Pointwise& predicate, ViewRequest request, const Canvas& canvas) {
  const double down = static_cast<double>(request.queries) / canvas.rows;
  const double across = static_cast<double>(request.keys) / canvas.columns;
  const double row = std::max(down, across * canvas.aspect);  // tokens
  request.query_tile = box(row);
  request.key_tile = box(row / canvas.aspect);
  return tile_view(predicate, request);
}

std::string summary(const TileView& view) {
  const std::int64_t total = view.rows * view.columns, full = view.count(Kind::full),
                     partial = view.count(Kind::partial);
  const double skipped =
      total == 0 ? 0 : 100.0 * static_cast<double>(total - full - partial) / static_cast<double>(total);
  return fmt::format("{} of {} visited ({} full, {} partial): {:.1f} % skipped", full + partial, total, full, partial,
                     skipped);
}

}  // namespace tessera::draw
