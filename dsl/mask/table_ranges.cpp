#include <tessera/dsl/mask/table_ranges.h>

#include <bit>
#include <cmath>
#include <limits>

namespace tessera::mask {

namespace {
constexpr std::int64_t kBlock = 64;
constexpr std::int64_t kManyRows = 256;
}  // namespace

TableRanges::TableRanges(const TableData& data) : data_(data) {
  const std::int64_t size = data.size();
  if (size == 0) return;
  columns_ = data.shape().back();
  rows_ = size / columns_;
  all_ = scan(0, size - 1);
  sorted_ = data.shape().size() == 1;
  for (std::int64_t i = 0; i < size; ++i) {
    has_nan_ |= std::isnan(data.element(i));
    sorted_ &= i == 0 || data.element(i - 1) <= data.element(i);
  }
  build_blocks();
  if (data.shape().size() >= 2) build_sums();
}

void TableRanges::build_blocks() {
  blocks_ = columns_ / kBlock;  // whole blocks only: the rest of a row is scanned
  if (blocks_ == 0) return;
  std::vector<Extremes> level;
  for (std::int64_t r = 0; r < rows_; ++r)
    for (std::int64_t b = 0; b < blocks_; ++b)
      level.push_back(scan(r * columns_ + b * kBlock, r * columns_ + b * kBlock + kBlock - 1));
  levels_.push_back(std::move(level));
  for (std::int64_t width = 1; 2 * width <= blocks_; width *= 2) {
    const std::vector<Extremes>& below = levels_.back();
    std::vector<Extremes> next(below.size());
    for (std::int64_t r = 0; r < rows_; ++r)
      for (std::int64_t b = 0; b + 2 * width <= blocks_; ++b)
        next[r * blocks_ + b] = hull(below[r * blocks_ + b], below[r * blocks_ + b + width]);
    levels_.push_back(std::move(next));
  }
}

void TableRanges::build_sums() {
  if (all_.lo < 0 || all_.hi > 1 || data_.dtype() != DType::i32) return;
  const std::int64_t height = data_.shape()[data_.shape().size() - 2];
  const std::int64_t stride = columns_ + 1;
  sums_.assign(rows_ / height * (height + 1) * stride, 0);
  for (std::int64_t slab = 0; slab < rows_ / height; ++slab) {
    std::int64_t* sums = sums_.data() + slab * (height + 1) * stride;
    for (std::int64_t r = 0; r < height; ++r)
      for (std::int64_t c = 0; c < columns_; ++c)
        sums[(r + 1) * stride + c + 1] = sums[r * stride + c + 1] + sums[(r + 1) * stride + c] - sums[r * stride + c] +
                                         static_cast<std::int64_t>(data_.element((slab * height + r) * columns_ + c));
  }
}

TableRanges::Extremes TableRanges::scan(std::int64_t from, std::int64_t to) const {
  Extremes e{data_.element(from), data_.element(from)};
  for (std::int64_t i = from + 1; i <= to; ++i) e = hull(e, {data_.element(i), data_.element(i)});
  return e;
}

TableRanges::Extremes TableRanges::row(std::int64_t row, std::int64_t from, std::int64_t to) const {
  const std::int64_t base = row * columns_;
  const std::int64_t first = (from + kBlock - 1) / kBlock,
                     last = std::min((to + 1) / kBlock, blocks_) - 1;  // whole blocks
  if (first > last) return scan(base + from, base + to);
  const int level = std::bit_width(static_cast<std::uint64_t>(last - first + 1)) - 1;
  const std::vector<Extremes>& table = levels_[level];
  Extremes e = hull(table[row * blocks_ + first], table[row * blocks_ + last + 1 - (std::int64_t{1} << level)]);
  if (from < first * kBlock) e = hull(e, scan(base + from, base + first * kBlock - 1));
  if ((last + 1) * kBlock <= to) e = hull(e, scan(base + (last + 1) * kBlock, base + to));
  return e;
}

std::pair<std::int64_t, std::int64_t> TableRanges::indices(std::int64_t lo, std::int64_t hi) const {
  const auto first_not = [&](auto below) {
    std::int64_t from = 0, to = data_.size();
    while (from < to) {
      const std::int64_t middle = from + (to - from) / 2;
      if (below(data_.element(middle)))
        from = middle + 1;
      else
        to = middle;
    }
    return from;
  };
  return {first_not([&](double x) { return x < static_cast<double>(lo); }),
          first_not([&](double x) { return x <= static_cast<double>(hi); }) - 1};
}

Range TableRanges::over(const Range* in) const {
  if (data_.size() == 0) return {0, 0};
  if (has_nan_) return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  const std::vector<std::int64_t>& shape = data_.shape();
  const auto clamped = [&](double x, std::size_t d) {
    return static_cast<std::int64_t>(std::clamp(x, 0.0, static_cast<double>(shape[d] - 1)));
  };
  std::int64_t slab = 0;
  const std::size_t rank = shape.size();
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    if (clamped(in[d].lo, d) != clamped(in[d].hi, d)) return {all_.lo, all_.hi};
    slab = slab * shape[d] + clamped(in[d].lo, d);
  }
  const std::int64_t from = clamped(in[rank - 1].lo, rank - 1), to = clamped(in[rank - 1].hi, rank - 1);
  std::int64_t top = 0, bottom = 0, height = 1;
  if (rank >= 2)
    height = shape[rank - 2], top = clamped(in[rank - 2].lo, rank - 2), bottom = clamped(in[rank - 2].hi, rank - 2);
  if (!sums_.empty()) {
    const std::int64_t stride = columns_ + 1;
    const std::int64_t* sums = sums_.data() + slab * (height + 1) * stride;
    const std::int64_t ones = sums[(bottom + 1) * stride + to + 1] - sums[top * stride + to + 1] -
                              sums[(bottom + 1) * stride + from] + sums[top * stride + from];
    return {ones == (bottom - top + 1) * (to - from + 1) ? 1.0 : 0.0, ones > 0 ? 1.0 : 0.0};
  }
  if (bottom - top >= kManyRows) return {all_.lo, all_.hi};
  Extremes e = row(slab * height + top, from, to);
  for (std::int64_t r = top + 1; r <= bottom; ++r) e = hull(e, row(slab * height + r, from, to));
  return {e.lo, e.hi};
}

}  // namespace tessera::mask
