#include <tessera/dsl/mask/tile_map.h>

#include <limits>

namespace tessera::mask {

namespace {

// Tile coordinates of both sides, closed; key tiles of the queries' are all of one kind but for those that the end of a
// digit clips.
struct Patch {
  Box tiles;
  bool full;
};

// Calls f(coordinates) for all tiles of a side of a patch, in the order of their numbers.
template <class F>
void for_tiles(const Box& tiles, int from, int digits, const F& f) {
  Digits at{};
  for (int i = 0; i < digits; ++i) at[i] = tiles.lo[from + i];
  while (true) {
    f(at);
    int i = digits - 1;
    while (i >= 0 && at[i] == tiles.hi[from + i]) at[i] = tiles.lo[from + i], --i;
    if (i < 0) return;
    ++at[i];
  }
}

// Key tiles of a patch, for each of its query tiles. One that the end of a digit clips holds rows that are not keys: it
// needs the predicate.
RowCount tiles_of(const Patch& p, const TokenOrder& queries, const TokenOrder& keys) {
  RowCount tiles{1, p.full};
  for (int i = 0; i < keys.digits(); ++i) {
    const Int lo = p.tiles.lo[queries.digits() + i], hi = p.tiles.hi[queries.digits() + i];
    tiles.visited *= hi - lo + 1;
    tiles.full *= hi - lo + 1 - (keys.clipped(i, lo) + (hi > lo && keys.clipped(i, hi)));
  }
  return tiles;
}

class Descent {
 public:
  Descent(BoxAnalysis& analysis, const TokenOrder& queries, const TokenOrder& keys, bool decided = true)
      : analysis_(analysis), queries_(queries), keys_(keys), decided_(decided) {}

  std::vector<Patch> run() {
    Box root;
    for (int i = 0; i < queries_.digits(); ++i) root.hi[i] = queries_.tiles(i) - 1;
    return run(root);
  }
  std::vector<Patch> run(Box root) {
    for (int i = 0; i < keys_.digits(); ++i) root.hi[queries_.digits() + i] = keys_.tiles(i) - 1;
    if (queries_.tokens() > 0 && keys_.tokens() > 0) visit(root);
    return std::move(patches_);
  }

 private:
  // Patches of a query tile come out with ascending key tiles where keys have one digit: halves are visited in order.
  void visit(const Box& tiles) {
    Box box;
    int longest = -1;
    Int length = 0;
    const int digits = queries_.digits() + keys_.digits();
    for (int i = 0; i < digits; ++i) {
      const bool query = i < queries_.digits();
      const TokenOrder& order = query ? queries_ : keys_;
      const int digit = query ? i : i - queries_.digits();
      box.lo[i] = order.first(digit, tiles.lo[i]), box.hi[i] = order.last(digit, tiles.hi[i]);
      const Int values = (tiles.hi[i] - tiles.lo[i]) * order.tile(digit);
      if (values > 0 && (query ? values > length : values >= length)) longest = i, length = values;
    }
    const bool single = longest < 0;
    const Verdict verdict = single && decided_ ? analysis_.decide(box) : analysis_.classify(box);
    if (verdict == Verdict::empty) return;
    if (verdict == Verdict::full || single) return patches_.push_back({tiles, verdict == Verdict::full});
    Box half = tiles;
    half.hi[longest] = tiles.lo[longest] + (tiles.hi[longest] - tiles.lo[longest]) / 2;
    visit(half);
    half.lo[longest] = half.hi[longest] + 1, half.hi[longest] = tiles.hi[longest];
    visit(half);
  }

  BoxAnalysis& analysis_;
  const TokenOrder &queries_, &keys_;
  bool decided_;
  std::vector<Patch> patches_;
};

// Writes patches as rows of a list.
class RowWriter {
 public:
  RowWriter(const TokenOrder& queries, const TokenOrder& keys, TileList& list)
      : queries_(queries), keys_(keys), list_(list), base_(list.rows.size()) {
    list.rows.resize(base_ + TileList::kFields * static_cast<std::size_t>(queries.tiles()));
  }

  void write(const std::vector<Patch>& patches) {
    for (const Patch& p : patches) count(p);
    place();
    for (const Patch& p : patches) fill(p);
    if (keys_.digits() > 1) sort();
  }

 private:
  std::int32_t* row(std::size_t r) { return list_.rows.data() + base_ + TileList::kFields * r; }
  std::size_t rows() const { return (list_.rows.size() - base_) / TileList::kFields; }

  template <class F>
  void for_rows(const Patch& p, const F& f) {
    for_tiles(p.tiles, 0, queries_.digits(),
              [&](const Digits& at) { f(static_cast<std::size_t>(queries_.number(at))); });
  }

  void count(const Patch& p) {
    const RowCount tiles = tiles_of(p, queries_, keys_);
    for_rows(p, [&](std::size_t r) {
      row(r)[1] += static_cast<std::int32_t>(tiles.visited - tiles.full);
      row(r)[2] += static_cast<std::int32_t>(tiles.full);
    });
  }

  void place() {
    std::size_t at = list_.tiles.size();
    for (std::size_t r = 0; r < rows(); ++r) {
      row(r)[0] = static_cast<std::int32_t>(at);
      row(r)[3] = static_cast<std::int32_t>(r);
      partial_at_.push_back(at);
      full_at_.push_back(at + static_cast<std::size_t>(row(r)[1]));
      at = full_at_.back() + static_cast<std::size_t>(row(r)[2]);
      if (at > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
        throw UserError({}, "the mask visits more than 2147483647 key tiles",
                        "use larger tiles, or a mask with a closed form");
    }
    list_.tiles.resize(at);
  }

  bool is_full(const Patch& p, const Digits& key_tile) const {
    for (int i = 0; p.full && i < keys_.digits(); ++i)
      if (keys_.clipped(i, key_tile[i])) return false;
    return p.full;
  }

  void fill(const Patch& p) {
    std::vector<std::int32_t> partial, full;
    for_tiles(p.tiles, queries_.digits(), keys_.digits(), [&](const Digits& at) {
      (is_full(p, at) ? full : partial).push_back(static_cast<std::int32_t>(keys_.number(at)));
    });
    for_rows(p, [&](std::size_t r) {
      std::copy(partial.begin(), partial.end(), list_.tiles.begin() + static_cast<std::ptrdiff_t>(partial_at_[r]));
      std::copy(full.begin(), full.end(), list_.tiles.begin() + static_cast<std::ptrdiff_t>(full_at_[r]));
      partial_at_[r] += partial.size(), full_at_[r] += full.size();
    });
  }

  void sort() {
    for (std::size_t r = 0; r < rows(); ++r) {
      const auto first = list_.tiles.begin() + row(r)[0];
      std::sort(first, first + row(r)[1]);
      std::sort(first + row(r)[1], first + row(r)[1] + row(r)[2]);
    }
  }

  const TokenOrder &queries_, &keys_;
  TileList& list_;
  std::size_t base_;
  std::vector<std::size_t> partial_at_, full_at_;  // where the next of a row goes
};

}  // namespace

void append_rows(BoxAnalysis& analysis, const TokenOrder& queries, const TokenOrder& keys, TileList& list) {
  RowWriter(queries, keys, list).write(Descent(analysis, queries, keys).run());
}

RowCount count_row(BoxAnalysis& analysis, const TokenOrder& queries, const TokenOrder& keys, const Digits& query_tile,
                   bool decided) {
  Box root;
  for (int i = 0; i < queries.digits(); ++i) root.lo[i] = root.hi[i] = query_tile[i];
  RowCount row;
  for (const Patch& p : Descent(analysis, queries, keys, decided).run(root)) {
    const auto [visited, full] = tiles_of(p, queries, keys);
    row.visited += visited, row.full += full;
  }
  return row;
}

}  // namespace tessera::mask
