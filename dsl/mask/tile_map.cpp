#include <tessera/dsl/mask/tile_map.h>

#include <limits>

namespace tessera::mask {

namespace {

// Key tiles [first, last] of query tiles [top, bottom], all of one kind.
struct Patch {
  std::int32_t top, bottom, first, last;
  bool full;
};

class Descent {
 public:
  Descent(BoxAnalysis& analysis, const TileGrid& grid) : analysis_(analysis), grid_(grid) {}

  std::vector<Patch> run() {
    if (grid_.query_tiles() > 0 && grid_.key_tiles() > 0)
      visit(0, static_cast<std::int32_t>(grid_.query_tiles()) - 1, 0, static_cast<std::int32_t>(grid_.key_tiles()) - 1);
    return std::move(patches_);
  }

 private:
  // Patches of a query tile come out with ascending key tiles: halves of keys are visited in order.
  void visit(std::int32_t top, std::int32_t bottom, std::int32_t first, std::int32_t last) {
    Box box;
    box.lo = {Int{top} * grid_.query_tile, Int{first} * grid_.key_tile};
    box.hi = {std::min(Int{bottom + 1} * grid_.query_tile, grid_.query_length) - 1,
              std::min(Int{last + 1} * grid_.key_tile, grid_.key_length) - 1};
    const bool single = top == bottom && first == last;
    const Verdict verdict = single ? analysis_.decide(box) : analysis_.classify(box);
    if (verdict == Verdict::empty) return;
    if (verdict == Verdict::full || single) return emit(top, bottom, first, last, verdict == Verdict::full);
    if (Int{bottom - top} * grid_.query_tile > Int{last - first} * grid_.key_tile) {
      const std::int32_t middle = top + (bottom - top) / 2;
      visit(top, middle, first, last);
      visit(middle + 1, bottom, first, last);
    } else {
      const std::int32_t middle = first + (last - first) / 2;
      visit(top, bottom, first, middle);
      visit(top, bottom, middle + 1, last);
    }
  }

  // A key tile that the end of the axis clips holds rows that are not keys: it needs the predicate.
  void emit(std::int32_t top, std::int32_t bottom, std::int32_t first, std::int32_t last, bool full) {
    if (full && Int{last + 1} * grid_.key_tile > grid_.key_length) {
      if (first < last) patches_.push_back({top, bottom, first, last - 1, true});
      patches_.push_back({top, bottom, last, last, false});
    } else {
      patches_.push_back({top, bottom, first, last, full});
    }
  }

  BoxAnalysis& analysis_;
  const TileGrid& grid_;
  std::vector<Patch> patches_;
};

}  // namespace

void append_rows(BoxAnalysis& analysis, const TileGrid& grid, TileList& list) {
  const std::vector<Patch> patches = Descent(analysis, grid).run();
  const std::size_t base = list.rows.size(), count = static_cast<std::size_t>(grid.query_tiles());
  list.rows.resize(base + TileList::kFields * count);
  const auto row = [&](std::size_t r) { return list.rows.data() + base + TileList::kFields * r; };
  for (const Patch& p : patches)
    for (std::int32_t r = p.top; r <= p.bottom; ++r)
      row(static_cast<std::size_t>(r))[p.full ? 2 : 1] += p.last - p.first + 1;
  std::size_t at = list.tiles.size();
  for (std::size_t r = 0; r < count; ++r) {
    row(r)[0] = static_cast<std::int32_t>(at);
    row(r)[3] = static_cast<std::int32_t>(r);
    at += static_cast<std::size_t>(row(r)[1]) + static_cast<std::size_t>(row(r)[2]);
    if (at > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
      throw UserError({}, "the mask visits more than 2147483647 key tiles",
                      "use larger tiles, or a mask with a closed form");
  }
  list.tiles.resize(at);
  std::vector<std::int32_t> partial_at(count), full_at(count);
  for (std::size_t r = 0; r < count; ++r) partial_at[r] = row(r)[0], full_at[r] = row(r)[0] + row(r)[1];
  for (const Patch& p : patches)
    for (std::int32_t r = p.top; r <= p.bottom; ++r)
      for (std::int32_t t = p.first; t <= p.last; ++t) list.tiles[(p.full ? full_at : partial_at)[r]++] = t;
}

}  // namespace tessera::mask
