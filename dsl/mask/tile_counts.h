// Counts of the tiles that a predicate visits in given orders, without making lists: what candidate plans are compared
// by.
//
// In one pair of digit systems the predicate is lowered once; tiles of any size are counted on it. Where every
// constraint of a single term is on one query digit and one key digit (windows, neighbourhoods, blocks in their grid's
// digits), axes are independent: counts are products over axes, exact, and cost nothing after the first. Elsewhere the
// hulls of the terms' keys are counted, or the rows themselves where hulls say little, on a sample of the query tiles.
#pragma once

#include <map>
#include <memory>
#include <tuple>

#include <tessera/dsl/mask/tile_map.h>

namespace tessera::mask {

struct Tally {
  double visited = 0, full = 0;  // key tiles, summed over query tiles
  double worst = 0;              // most that one query tile visits
  double query_tiles = 0;        // that have a query
  bool exact = false;
  std::vector<float> row_visited, row_full;  // of each query tile, where all were counted one by one
};

class TileCounter {
 public:
  // The predicate `root` in the digits of these orders; their tiles do not matter.
  TileCounter(Expressions& e, Expressions::Id root, const TokenOrder& queries, const TokenOrder& keys);

  bool separable() const { return !axes_.empty(); }
  bool anchors_at_rows() const { return analysis_.terms() && analysis_.terms()->size() == 1; }
  bool nothing_live() const { return analysis_.terms() && analysis_.terms()->empty(); }
  int key_divisions() const;  // divisions and remainders of the key that these digits do not do away with

  // `sample`: query tiles that are looked at where counts are no products; 0: all of them, tile by tile as lists are
  // made, and their rows are told.
  Tally count(const Order& queries, const Order& keys, Anchor anchor, Int sample);

  // Whether counting a query tile takes no more than the hulls of its keys.
  bool cheap(const Order& queries, const Order& keys);

  BoxAnalysis& analysis() { return analysis_; }

 private:
  // Keys of a query tile by one term, and those of them that all its queries see.
  struct KeyBox {
    Digits lo{}, hi{}, full_lo{}, full_hi{};
  };
  using KeyBoxes = std::vector<KeyBox>;

  // Digits that constrain each other; -1: none of that side.
  struct Axis {
    int query = -1, key = -1;
  };
  struct AxisSum {
    double visited = 0, full = 0, worst = 0;
    std::vector<float> row_visited, row_full;
  };

  void find_axes();
  const std::vector<KeyBox>& axis_rows(const Axis& axis, const TokenOrder& queries);
  const AxisSum& axis_sum(std::size_t axis, const TokenOrder& queries, const TokenOrder& keys, Anchor anchor);
  Tally product(const TokenOrder& queries, const TokenOrder& keys, Anchor anchor, bool rows);

  Box free_keys(const TokenOrder& queries, const Digits* query_tile) const;
  std::vector<Digits> sampled(const TokenOrder& queries, Int sample, double& weight);
  KeyBoxes key_boxes(const TokenOrder& queries, const Digits& query_tile);
  bool count_hulls(const KeyBoxes& boxes, const TokenOrder& keys, Anchor anchor, RowCount& row) const;
  RowCount row(const TokenOrder& queries, const TokenOrder& keys, const Digits& query_tile, Anchor anchor);
  bool hulls_are_tight(const TokenOrder& queries, const TokenOrder& keys);

  BoxAnalysis analysis_;
  std::vector<Axis> axes_;
  Term axis_term_;
  int tight_ = -1;  // hulls of terms are the tile map; -1: not known yet
  std::map<std::tuple<int, int, Int, Int>, std::vector<KeyBox>> axis_rows_;
  std::map<std::tuple<std::size_t, Int, Int, Int, Int, Anchor>, AxisSum> axis_sums_;
  std::map<std::vector<Int>, std::pair<std::vector<KeyBoxes>, double>> hulls_;  // by query order and sample
};

}  // namespace tessera::mask
