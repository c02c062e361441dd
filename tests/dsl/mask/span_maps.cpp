#include "span_maps.h"

namespace tessera::testing {

namespace {

// Marks a box's tiles on a row of a map; outer: what the outermost digit is bound to.
void mark(TileMap& map, std::int64_t row, const SpanBox& box, const mask::TokenOrder& keys, std::int64_t outer = -1) {
  const int from = outer >= 0 ? 1 : 0;
  for (const Span& s : box) {
    if (s.begin > s.full_begin || s.full_begin > s.full_end || s.full_end > s.end) ++map.faults;
    if (s.begin >= s.end) return;
  }
  mask::Digits at{};
  if (outer >= 0) at[0] = outer;
  for (std::size_t d = 0; d < box.size(); ++d) {
    at[d + from] = box[d].begin;
    if (box[d].begin < 0 || box[d].end > keys.tiles(static_cast<int>(d) + from) ||
        box[d].start != -keys.origin(static_cast<int>(d) + from)) {
      ++map.faults;
      return;
    }
  }
  while (true) {
    bool full = true;
    for (std::size_t d = 0; d < box.size(); ++d)
      full &= at[d + from] >= box[d].full_begin && at[d + from] < box[d].full_end;
    std::uint8_t& tile = map.at(row, keys.number(at));
    tile = full || tile == kFull ? kFull : kPartial;
    int d = static_cast<int>(box.size()) - 1;
    while (d >= 0 && ++at[d + from] == box[static_cast<std::size_t>(d)].end)
      at[d + from] = box[static_cast<std::size_t>(d)].begin, --d;
    if (d < 0) return;
  }
}

TileMap no_tiles(const mask::TokenOrder& queries, const mask::TokenOrder& keys) {
  TileMap map;
  map.query_tiles = queries.tiles(), map.key_tiles = keys.tiles();
  map.tiles.assign(static_cast<std::size_t>(map.query_tiles * map.key_tiles), kEmpty);
  return map;
}

}  // namespace

std::optional<SpanMaps> spans_of(const mask::Pointwise& m, const OrderPair& pair, Lengths n) {
  std::string reason;
  const auto plain = mask::digit_spans(m, pair.queries, pair.keys, {}, reason);
  if (!plain) {
    ensure(!reason.empty(), "a reason");
    return std::nullopt;
  }
  const auto nested = mask::digit_spans(m, pair.queries, pair.keys, {.nested = true}, reason);
  const auto guard = mask::tile_guard(m, pair.queries, pair.keys, reason);
  ensure(nested && guard, "nested spans and guards wherever plain ones are");
  const mask::TokenOrder queries(pair.queries, n.queries), keys(pair.keys, n.keys);
  Caller caller(m, queries, keys, n);
  SpanMaps maps{no_tiles(queries, keys), no_tiles(queries, keys), no_tiles(queries, keys)};
  for (std::int64_t t = 0; t < queries.tiles(); ++t) {
    const mask::Digits tile = queries.coordinates(t);
    for (const SpanBox& box : caller.boxes(*plain, tile)) {
      mark(maps.plain, t, box, keys);
      if (keys.digits() == 1) continue;
      for (std::int64_t outer = box[0].begin; outer < box[0].end; ++outer)
        for (const SpanBox& inner : caller.boxes(*nested, tile, outer)) mark(maps.nested, t, inner, keys, outer);
    }
    if (keys.digits() == 1)
      for (std::int64_t k = 0; k < keys.tiles(); ++k) maps.nested.at(t, k) = maps.plain.at(t, k);
    for (std::int64_t k = 0; k < keys.tiles(); ++k) {
      const mask::Digits at = keys.coordinates(k);
      const std::vector<std::int64_t> says = caller.guard(*guard, tile, at);
      bool clipped = false;
      for (int i = 0; i < keys.digits(); ++i) clipped |= keys.clipped(i, at[i]);
      if (says[0] && maps.plain.at(t, k) != kEmpty) maps.guarded.at(t, k) = says[1] && !clipped ? kFull : kPartial;
    }
  }
  return maps;
}

}  // namespace tessera::testing
