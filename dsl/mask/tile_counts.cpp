#include <tessera/dsl/mask/tile_counts.h>

#include <algorithm>
#include <numeric>

namespace tessera::mask {

namespace {

constexpr std::size_t kMaxUnion = 4;  // boxes whose union is counted by inclusion and exclusion
constexpr Int kTightnessRows = 5;
constexpr double kTight = 1.02;  // hulls visit so many times the tiles that there are, at most
constexpr double kFound = 0.9;   // and find so many of the full ones

Int tiles_between(Int lo, Int hi, const TokenOrder& keys, int digit, Anchor anchor) {
  if (lo > hi) return 0;
  if (anchor == Anchor::row) return ceil_div(hi - lo + 1, keys.tile(digit));
  return keys.tile_of(digit, hi) - keys.tile_of(digit, lo) + 1;
}

// Whole tiles in [full_lo, full_hi] of a row whose keys start at `lo`.
Int whole_tiles(Int lo, Int full_lo, Int full_hi, const TokenOrder& keys, int digit, Anchor anchor) {
  const Int start = anchor == Anchor::row ? -lo : keys.origin(digit);
  const Int first = ceil_div(full_lo + start, keys.tile(digit)), end = floor_div(full_hi + 1 + start, keys.tile(digit));
  return std::max<Int>(end - first, 0);
}

// All of one side's digits from one down, below the weight above: what a token's digits are anyway.
bool is_validity(const Constraint& c, const Lowering& lowering) {
  const Linear& form = lowering.forms()[c.form];
  if (c.lo > -kUnbounded || !c.periodics.empty() || form.terms.size() < 2) return false;
  const int side = form.terms[0].first < lowering.first_digit(1) ? 0 : 1, base = lowering.first_digit(side);
  const TokenOrder& order = lowering.domain().side(side);
  std::size_t t = 0;
  const int first = form.terms[0].first - base;
  for (int i = first; i < order.digits(); ++i) {
    if (order.extent(i) <= 1) continue;
    if (t == form.terms.size() || form.terms[t] != std::pair{base + i, order.weight(i)}) return false;
    ++t;
  }
  return t == form.terms.size() && c.hi == order.period(first) - 1;
}

// Digits that an atom is made of, as bits.
unsigned digits_of(const Lowering& lowering, int atom) {
  if (atom < lowering.digits()) return 1u << atom;
  const Atom& a = lowering.atoms()[atom];
  if (a.kind == AtomKind::opaque || a.kind == AtomKind::choice) return (1u << lowering.digits()) - 1;
  unsigned bits = 0;
  for (const Linear* part : {&a.a, &a.b})
    for (const auto& [id, factor] : part->terms) bits |= digits_of(lowering, id);
  return bits;
}

// Grows or falls with the digit it is made of, if any: the keys of a run of queries are then a run as well.
bool is_monotone(const Lowering& lowering, int atom) {
  const Atom& a = lowering.atoms()[atom];
  const auto parts = [&](const Linear& part) {
    return std::all_of(part.terms.begin(), part.terms.end(),
                       [&](const auto& t) { return is_monotone(lowering, t.first); });
  };
  switch (a.kind) {
    case AtomKind::digit: return true;
    case AtomKind::div: return parts(a.a) && (!(a.sides & 2) || a.a.terms.size() == 1);
    case AtomKind::min:
    case AtomKind::max: return !(a.sides & 2) && parts(a.a) && parts(a.b);
    default: return false;
  }
}

}  // namespace

TileCounter::TileCounter(Expressions& e, Expressions::Id root, const TokenOrder& queries, const TokenOrder& keys)
    : analysis_(e, root, {queries, keys}) {
  find_axes();
}

int TileCounter::key_divisions() const {
  int count = 0;
  for (const Atom& atom : analysis_.lowering().atoms())
    count += (atom.sides & 2) && (atom.kind == AtomKind::div || atom.kind == AtomKind::mod);
  return count;
}

void TileCounter::find_axes() {
  if (!anchors_at_rows()) return;
  const Lowering& lowering = analysis_.lowering();
  const int digits = lowering.digits(), queries = lowering.first_digit(1);
  std::vector<unsigned> parts;
  for (int i = 0; i < digits; ++i) parts.push_back(1u << i);
  for (const Constraint& c : analysis_.terms()->front()) {
    if (is_validity(c, lowering)) continue;
    if (!c.periodics.empty()) return;
    axis_term_.push_back(c);
    unsigned together = 0;
    for (const auto& [id, factor] : lowering.forms()[c.form].terms) {
      if (!is_monotone(lowering, id)) return;
      together |= digits_of(lowering, id);
    }
    for (unsigned part : parts)
      if (part & together) together |= part;
    std::erase_if(parts, [&](unsigned part) { return (part & together) != 0; });
    if (together) parts.push_back(together);
  }
  std::vector<Axis> axes;
  for (unsigned part : parts) {
    Axis axis;
    for (int i = 0; i < digits; ++i) {
      if (!(part >> i & 1)) continue;
      int& digit = i < queries ? axis.query : axis.key;
      if (digit >= 0) return;
      digit = i < queries ? i : i - queries;
    }
    axes.push_back(axis);
  }
  axes_ = std::move(axes);
}

Box TileCounter::free_keys(const TokenOrder& queries, const Digits* query_tile) const {
  const Lowering& lowering = analysis_.lowering();
  Box box;
  for (int i = 0; i < queries.digits(); ++i) {
    box.lo[i] = query_tile ? queries.first(i, (*query_tile)[i]) : 0;
    box.hi[i] = query_tile ? queries.last(i, (*query_tile)[i]) : queries.extent(i) - 1;
  }
  const TokenOrder& keys = lowering.domain().keys;
  for (int i = 0; i < keys.digits(); ++i) box.hi[lowering.first_digit(1) + i] = keys.extent(i) - 1;
  return box;
}

// The keys of each tile of the axis's query digit, the other digits free: a dead axis has lo > hi.
const std::vector<TileCounter::KeyBox>& TileCounter::axis_rows(const Axis& axis, const TokenOrder& queries) {
  const Int tile = axis.query < 0 ? 0 : queries.tile(axis.query),
            origin = axis.query < 0 ? 0 : queries.origin(axis.query);
  auto [it, added] = axis_rows_.try_emplace({axis.query, axis.key, tile, origin});
  if (!added) return it->second;
  const Int rows = axis.query < 0 ? 1 : queries.tiles(axis.query);
  const Lowering& lowering = analysis_.lowering();
  Term term;
  for (const Constraint& c : axis_term_) {
    unsigned bits = 0;
    for (const auto& [id, factor] : lowering.forms()[c.form].terms) bits |= digits_of(lowering, id);
    const bool of_query = axis.query >= 0 && (bits >> axis.query & 1),
               of_key = axis.key >= 0 && (bits >> (lowering.first_digit(1) + axis.key) & 1);
    if (of_query || of_key) term.push_back(c);
  }
  for (Int t = 0; t < rows; ++t) {
    Box box = free_keys(queries, nullptr), live;
    if (axis.query >= 0)
      box.lo[axis.query] = queries.first(axis.query, t), box.hi[axis.query] = queries.last(axis.query, t);
    KeyBox row{{}, {-1}, {1}, {0}};
    if (analysis_.narrow(term, box, live)) {
      Digits full_lo, full_hi;
      const bool known = analysis_.certain(term, box, full_lo, full_hi) && full_lo[0] <= full_hi[0];
      const int at = axis.key < 0 ? 0 : lowering.first_digit(1) + axis.key, key = std::max(axis.key, 0);
      row.lo[0] = axis.key < 0 ? 0 : live.lo[at], row.hi[0] = axis.key < 0 ? 0 : live.hi[at];
      if (known) {
        row.full_lo[0] = axis.key < 0 ? 0 : std::max(full_lo[key], row.lo[0]);
        row.full_hi[0] = axis.key < 0 ? 0 : std::min(full_hi[key], row.hi[0]);
      }
    }
    it->second.push_back(row);
  }
  return it->second;
}

const TileCounter::AxisSum& TileCounter::axis_sum(std::size_t which, const TokenOrder& queries, const TokenOrder& keys,
                                                  Anchor anchor) {
  const Axis& axis = axes_[which];
  const Int query_tile = axis.query < 0 ? 0 : queries.tile(axis.query),
            query_origin = axis.query < 0 ? 0 : queries.origin(axis.query),
            key_tile = axis.key < 0 ? 0 : keys.tile(axis.key), key_origin = axis.key < 0 ? 0 : keys.origin(axis.key);
  auto [it, added] = axis_sums_.try_emplace({which, query_tile, query_origin, key_tile, key_origin, anchor});
  if (!added) return it->second;
  AxisSum& sum = it->second;
  for (const KeyBox& row : axis_rows(axis, queries)) {
    Int visited = row.lo[0] <= row.hi[0], full = row.full_lo[0] <= row.full_hi[0];
    if (axis.key >= 0) {
      visited = tiles_between(row.lo[0], row.hi[0], keys, axis.key, anchor);
      full = full ? whole_tiles(row.lo[0], row.full_lo[0], row.full_hi[0], keys, axis.key, anchor) : 0;
    }
    sum.visited += static_cast<double>(visited), sum.full += static_cast<double>(full);
    sum.worst = std::max(sum.worst, static_cast<double>(visited));
    sum.row_visited.push_back(static_cast<float>(visited)), sum.row_full.push_back(static_cast<float>(full));
  }
  return sum;
}

Tally TileCounter::product(const TokenOrder& queries, const TokenOrder& keys, Anchor anchor, bool rows) {
  Tally tally{1, 1, 1, static_cast<double>(queries.tiles()), !queries.ragged() && !keys.ragged(), {}, {}};
  std::vector<const AxisSum*> sums;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const AxisSum& sum = axis_sum(a, queries, keys, anchor);
    tally.visited *= sum.visited, tally.full *= sum.full, tally.worst *= sum.worst;
    sums.push_back(&sum);
  }
  if (!rows) return tally;
  for (Int t = 0; t < queries.tiles(); ++t) {
    const Digits tile = queries.coordinates(t);
    float visited = 1, full = 1;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      const std::size_t at =
          axes_[a].query < 0 ? 0 : static_cast<std::size_t>(tile[static_cast<std::size_t>(axes_[a].query)]);
      visited *= sums[a]->row_visited[at], full *= sums[a]->row_full[at];
    }
    tally.row_visited.push_back(visited), tally.row_full.push_back(full);
  }
  return tally;
}

// Query tiles spread evenly over those that may have a live key at all; each stands for `weight` of them.
std::vector<Digits> TileCounter::sampled(const TokenOrder& queries, Int sample, double& weight) {
  std::vector<Digits> tiles;
  weight = 1;
  if (sample <= 0 || queries.tiles() <= sample) {
    for (Int t = 0; t < queries.tiles(); ++t) {
      const Digits tile = queries.coordinates(t);
      Digits least{};
      for (int i = 0; i < queries.digits(); ++i) least[i] = queries.first(i, tile[i]);
      if (queries.valid(least)) tiles.push_back(tile);
    }
    return tiles;
  }
  Digits first{}, count{};
  Int total = 1;
  Box hull;
  hull.lo.fill(kUnbounded), hull.hi.fill(-1);
  if (analysis_.terms()) {
    for (const Term& term : *analysis_.terms()) {
      Box live;
      if (!analysis_.narrow(term, free_keys(queries, nullptr), live)) continue;
      for (int i = 0; i < queries.digits(); ++i)
        hull.lo[i] = std::min(hull.lo[i], live.lo[i]), hull.hi[i] = std::max(hull.hi[i], live.hi[i]);
    }
    if (hull.lo[0] > hull.hi[0]) return {};
  }
  for (int i = 0; i < queries.digits(); ++i) {
    first[i] = analysis_.terms() ? queries.tile_of(i, hull.lo[i]) : 0;
    count[i] = (analysis_.terms() ? queries.tile_of(i, hull.hi[i]) : queries.tiles(i) - 1) - first[i] + 1;
    total *= count[i];
  }
  const Int taken = std::min(sample, total);
  for (Int s = 0; s < taken; ++s) {
    Int at = (2 * s + 1) * total / (2 * taken);
    if (taken < total) at = (at + s * 7919 % std::max<Int>(1, total / taken / 2)) % total;
    Digits tile{};
    for (int i = queries.digits() - 1; i >= 0; --i) tile[i] = first[i] + at % count[i], at /= count[i];
    tiles.push_back(tile);
  }
  weight = static_cast<double>(total) / static_cast<double>(taken);
  return tiles;
}

TileCounter::KeyBoxes TileCounter::key_boxes(const TokenOrder& queries, const Digits& query_tile) {
  const int base = analysis_.lowering().first_digit(1), digits = analysis_.lowering().domain().keys.digits();
  const Box box = free_keys(queries, &query_tile);
  KeyBoxes boxes;
  for (const Term& term : *analysis_.terms()) {
    Box live;
    if (!analysis_.narrow(term, box, live)) continue;
    KeyBox keys;
    if (!analysis_.certain(term, box, keys.full_lo, keys.full_hi)) keys.full_lo[0] = 1, keys.full_hi[0] = 0;
    for (int i = 0; i < digits; ++i) {
      keys.lo[i] = live.lo[base + i], keys.hi[i] = live.hi[base + i];
      if (keys.full_lo[0] <= keys.full_hi[0])
        keys.full_lo[i] = std::max(keys.full_lo[i], keys.lo[i]),
        keys.full_hi[i] = std::min(keys.full_hi[i], keys.hi[i]);
    }
    boxes.push_back(keys);
  }
  return boxes;
}

// Tiles of the union of the boxes. False where there are too many to count.
bool TileCounter::count_hulls(const KeyBoxes& boxes, const TokenOrder& keys, Anchor anchor, RowCount& row) const {
  row = {};
  if (boxes.size() > kMaxUnion) return false;
  for (unsigned subset = 1; subset < 1u << boxes.size(); ++subset) {
    Int visited = 1, full = 1;
    int members = 0;
    for (int i = 0; i < keys.digits(); ++i) {
      Int lo = 0, hi = kUnbounded, full_lo = 0, full_hi = kUnbounded;
      members = 0;
      for (std::size_t b = 0; b < boxes.size(); ++b) {
        if (!(subset >> b & 1)) continue;
        ++members;
        const KeyBox& box = boxes[b];
        const bool some_full = box.full_lo[0] <= box.full_hi[0];
        const auto tile = [&](Int x) { return anchor == Anchor::row ? x : keys.tile_of(i, x); };
        lo = std::max(lo, tile(box.lo[i])), hi = std::min(hi, tile(box.hi[i]));
        full_lo = std::max(full_lo, box.full_lo[i]), full_hi = std::min(full_hi, some_full ? box.full_hi[i] : -1);
      }
      visited *= anchor == Anchor::row ? tiles_between(lo, hi, keys, i, anchor) : std::max<Int>(hi - lo + 1, 0);
      full *= whole_tiles(lo, full_lo, full_hi, keys, i, anchor);
    }
    row.visited += members % 2 ? visited : -visited;
    row.full += members % 2 ? full : -full;
  }
  return true;
}

RowCount TileCounter::row(const TokenOrder& queries, const TokenOrder& keys, const Digits& query_tile, Anchor anchor) {
  RowCount row;
  if (anchor == Anchor::row && count_hulls(key_boxes(queries, query_tile), keys, anchor, row)) return row;
  return count_row(analysis_, queries, keys, query_tile, true);
}

// Compared with the tile map on a few rows. Hulls say nothing of what a periodic constraint leaves out.
bool TileCounter::hulls_are_tight(const TokenOrder& queries, const TokenOrder& keys) {
  if (tight_ >= 0) return tight_;
  tight_ = analysis_.terms() != nullptr && analysis_.terms()->size() <= kMaxUnion;
  for (std::size_t t = 0; tight_ && t < analysis_.terms()->size(); ++t)
    for (const Constraint& c : (*analysis_.terms())[t]) tight_ &= c.periodics.empty();
  RowCount hull, there;
  double weight = 1;
  if (tight_)
    for (const Digits& tile : sampled(queries, kTightnessRows, weight)) {
      RowCount row;
      count_hulls(key_boxes(queries, tile), keys, Anchor::grid, row);
      const RowCount listed = count_row(analysis_, queries, keys, tile, false);
      hull.visited += row.visited, hull.full += row.full;
      there.visited += listed.visited, there.full += listed.full;
    }
  if (static_cast<double>(hull.visited) > kTight * static_cast<double>(there.visited) ||
      static_cast<double>(hull.full) < kFound * static_cast<double>(there.full))
    tight_ = false;
  return tight_;
}

bool TileCounter::cheap(const Order& queries, const Order& keys) {
  const Domain& domain = analysis_.lowering().domain();
  return separable() || nothing_live() ||
         hulls_are_tight({queries, domain.queries.tokens()}, {keys, domain.keys.tokens()});
}

Tally TileCounter::count(const Order& query_order, const Order& key_order, Anchor anchor, Int sample) {
  const Domain& domain = analysis_.lowering().domain();
  const TokenOrder queries(query_order, domain.queries.tokens()), keys(key_order, domain.keys.tokens());
  Tally tally;
  tally.query_tiles = static_cast<double>(queries.tiles());
  if (nothing_live() || queries.tiles() == 0 || keys.tiles() == 0) return tally.exact = true, tally;
  const bool all = sample <= 0 || queries.tiles() <= sample;
  const bool ragged = queries.ragged() || keys.ragged();  // products count tiles without a token
  if (separable() && !(ragged && all)) return product(queries, keys, anchor, all);
  if (sample > 0 && hulls_are_tight(queries, keys)) {
    std::vector<Int> key{sample};
    for (const OrderDigit& d : query_order.digits) key.push_back(d.tile), key.push_back(d.origin);
    auto [it, added] = hulls_.try_emplace(key);
    if (added)
      for (const Digits& tile : sampled(queries, sample, it->second.second))
        it->second.first.push_back(key_boxes(queries, tile));
    for (const KeyBoxes& boxes : it->second.first) {
      RowCount r;
      count_hulls(boxes, keys, anchor, r);
      tally.visited += static_cast<double>(r.visited), tally.full += static_cast<double>(r.full);
      tally.worst = std::max(tally.worst, static_cast<double>(r.visited));
      if (all) tally.row_visited.push_back(static_cast<float>(r.visited));
      if (all) tally.row_full.push_back(static_cast<float>(r.full));
    }
    tally.visited *= it->second.second, tally.full *= it->second.second;
    if (all) tally.query_tiles = static_cast<double>(it->second.first.size());
    return tally;
  }
  double weight = 1;
  for (const Digits& tile : sampled(queries, sample, weight)) {
    const RowCount r = sample <= 0             ? row(queries, keys, tile, anchor)
                       : anchor == Anchor::row ? row(queries, keys, tile, anchor)
                                               : count_row(analysis_, queries, keys, tile, false);
    tally.visited += static_cast<double>(r.visited), tally.full += static_cast<double>(r.full);
    tally.worst = std::max(tally.worst, static_cast<double>(r.visited));
    if (all)
      tally.row_visited.push_back(static_cast<float>(r.visited)), tally.row_full.push_back(static_cast<float>(r.full));
  }
  tally.visited *= weight, tally.full *= weight;
  if (all) tally.query_tiles = static_cast<double>(tally.row_visited.size());
  tally.exact = all;
  return tally;
}

}  // namespace tessera::mask
