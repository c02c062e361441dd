// Least and greatest element of a table over a box of indices, in constant time: what box analysis asks of side tables.
//
// A row (the last dimension) is cut into blocks of 64; a sparse table over block minima and maxima answers a range of
// whole blocks, at most two blocks are scanned. Boxes of several rows use 2-D prefix sums where the table holds bits,
// else the rows one by one, or the extremes of the table when there are many.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <tessera/dsl/mask/expression.h>
#include <tessera/dsl/mask/pointwise.h>

namespace tessera::mask {

class TableRanges {
 public:
  explicit TableRanges(const TableData& data);

  // Indices are clamped into range, as reads are. `in` has one range a dimension.
  Range over(const Range* in) const;
  bool sorted() const { return sorted_; }  // one dimension, never decreasing
  std::int64_t size() const { return data_.size(); }
  // First and last index of a sorted table whose element lies in [lo, hi]; first > last when none does.
  std::pair<std::int64_t, std::int64_t> indices(std::int64_t lo, std::int64_t hi) const;

 private:
  struct Extremes {
    double lo, hi;
  };
  static Extremes hull(Extremes a, Extremes b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }
  Extremes row(std::int64_t row, std::int64_t from, std::int64_t to) const;
  Extremes scan(std::int64_t from, std::int64_t to) const;
  void build_blocks();
  void build_sums();

  const TableData& data_;
  std::int64_t rows_ = 1, columns_ = 0;
  std::int64_t blocks_ = 0;                    // a row
  std::vector<std::vector<Extremes>> levels_;  // [level][row * blocks + block]
  std::vector<std::int64_t> sums_;             // (last but one + 1) x (columns + 1) a slab; empty unless bits
  bool sorted_ = false, has_nan_ = false;
  Extremes all_{0, 0};
};

inline Range table_range(const TableData& data, const Range* in, int) { return data.ranges().over(in); }

}  // namespace tessera::mask
