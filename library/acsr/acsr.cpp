#include <tessera/library/acsr/acsr.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tessera/dsl/lang/table.h>
#include <tessera/dsl/mask/live_runs.h>

namespace tessera {

namespace {

constexpr std::int64_t kMost = INT32_MAX;

// Takes a row's keys in ascending order, as runs of neighbours, and remembers three numbers of them.
class RowScan {
 public:
  void add(std::int64_t begin, std::int64_t end) {
    if (!regular_ || begin == end) return;
    if (row_.count == 0) row_.first = static_cast<std::int32_t>(begin);
    if (row_.count > 0) step(begin);
    ++row_.count;
    if (end - begin == 1) return;
    step(begin + 1);
    row_.count += static_cast<std::int32_t>(end - begin - 1);
    regular_ = regular_ && row_.stride == 1;
  }
  bool regular() const { return regular_; }
  Progression row() const { return regular_ ? row_ : Progression{}; }

 private:
  // The next key must follow at the stride, which the second key says.
  void step(std::int64_t key) {
    const std::int64_t expected = row_.count == 1 ? key : row_.key(row_.count);
    if (row_.count == 1) row_.stride = static_cast<std::int32_t>(key - row_.first);
    regular_ = regular_ && key == expected;
  }

  Progression row_;
  bool regular_ = true;
};

void take(AcsrScan& scan, const RowScan& row) {
  if (!row.regular()) scan.irregular.push_back(static_cast<std::int64_t>(scan.acsr.rows.size()));
  scan.acsr.rows.push_back(row.row());
}

void check_size(std::int64_t rows, std::int64_t columns, SourceLoc loc) {
  if (rows >= 0 && columns >= 0 && rows <= kMost && columns <= kMost) return;
  throw UserError(loc, fmt::format("there are {} rows of {} columns", rows, columns), "give 0 to 2^31 - 1 of each");
}

void check_csr(const Csr& csr, SourceLoc loc) {
  const auto refuse = [&](const std::string& cause, const char* remedy) { throw UserError(loc, cause, remedy); };
  if (csr.offsets.empty() || csr.offsets.front() != 0 ||
      csr.offsets.back() != static_cast<std::int64_t>(csr.columns.size()))
    refuse(fmt::format("{} offsets are from {} to {}, for {} columns", csr.offsets.size(),
                       csr.offsets.empty() ? 0 : csr.offsets.front(), csr.offsets.empty() ? 0 : csr.offsets.back(),
                       csr.columns.size()),
           "give one more offset than there are rows, from 0 to the number of columns");
  check_size(static_cast<std::int64_t>(csr.offsets.size()) - 1, csr.column_count, loc);
  for (std::size_t r = 0; r + 1 < csr.offsets.size(); ++r) {
    const std::int64_t begin = csr.offsets[r], end = csr.offsets[r + 1];
    if (end < begin || end > csr.offsets.back())
      refuse(fmt::format("the offsets of row {} are {} and {}", r, begin, end), "give them in ascending order");
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t column = csr.columns[static_cast<std::size_t>(i)];
      if (column < 0 || column >= csr.column_count)
        refuse(fmt::format("row {} has column {}, of {}", r, column, csr.column_count), "give columns that there are");
      if (i > begin && column <= csr.columns[static_cast<std::size_t>(i) - 1])
        refuse(fmt::format("column {} of row {} is after column {}", column, r,
                           csr.columns[static_cast<std::size_t>(i) - 1]),
               "give each column once, in ascending order");
    }
  }
}

}  // namespace

bool Progression::contains(std::int64_t k) const {
  return count > 0 && k >= first && k <= last() && (k - first) % stride == 0;
}

std::int64_t Acsr::nnz() const {
  std::int64_t sum = 0;
  for (const Progression& row : rows) sum += row.count;
  return sum;
}

std::int64_t Acsr::widest() const {
  std::int64_t most = 0;
  for (const Progression& row : rows) most = std::max<std::int64_t>(most, row.count);
  return most;
}

AcsrScan acsr_of(const Mask& mask, const AcsrShape& shape, SourceLoc loc) {
  check_size(shape.queries, shape.keys, loc);
  mask::check_lengths(mask.predicate(), shape.queries, shape.keys, loc);
  if (mask.predicate().data_at_call())
    throw UserError(loc, "the mask reads a table whose contents come with the call", "capture the table's data");
  AcsrScan scan;
  scan.acsr.columns = shape.keys;
  mask::PlanRequest request;
  request.query_length = shape.queries, request.key_length = shape.keys;
  request.scalars = shape.params;
  mask::LiveRuns runs(mask.predicate(), request, shape.batch, shape.head);
  for (std::int64_t q = 0; q < shape.queries; ++q) {
    RowScan row;
    runs.of(q, [&](std::int64_t begin, std::int64_t end) {
      row.add(begin, end);
      return row.regular();
    });
    take(scan, row);
  }
  return scan;
}

AcsrScan acsr_of_dense(std::span<const std::uint8_t> live, std::int64_t rows, std::int64_t columns, SourceLoc loc) {
  check_size(rows, columns, loc);
  if (static_cast<std::int64_t>(live.size()) != rows * columns)
    throw UserError(loc, fmt::format("a mask of {} x {} is given {} elements", rows, columns, live.size()),
                    "give rows x columns of them");
  AcsrScan scan;
  scan.acsr.columns = columns;
  for (std::int64_t r = 0; r < rows; ++r) {
    RowScan row;
    for (std::int64_t c = 0; c < columns; ++c)
      if (live[static_cast<std::size_t>(r * columns + c)] != 0) row.add(c, c + 1);
    take(scan, row);
  }
  return scan;
}

AcsrScan acsr_of(const Csr& csr, SourceLoc loc) {
  check_csr(csr, loc);
  AcsrScan scan;
  scan.acsr.columns = csr.column_count;
  for (std::size_t r = 0; r + 1 < csr.offsets.size(); ++r) {
    RowScan row;
    for (std::int64_t i = csr.offsets[r]; i < csr.offsets[r + 1]; ++i) {
      const std::int64_t column = csr.columns[static_cast<std::size_t>(i)];
      row.add(column, column + 1);
    }
    take(scan, row);
  }
  return scan;
}

Csr to_csr(const Acsr& acsr) {
  Csr csr{acsr.columns, {0}, {}};
  for (const Progression& row : acsr.rows) {
    for (std::int64_t i = 0; i < row.count; ++i) csr.columns.push_back(static_cast<std::int32_t>(row.key(i)));
    csr.offsets.push_back(static_cast<std::int64_t>(csr.columns.size()));
  }
  return csr;
}

std::vector<std::uint8_t> to_dense(const Acsr& acsr) {
  std::vector<std::uint8_t> live(acsr.rows.size() * static_cast<std::size_t>(acsr.columns), 0);
  for (std::size_t r = 0; r < acsr.rows.size(); ++r)
    for (std::int64_t i = 0; i < acsr.rows[r].count; ++i)
      live[r * static_cast<std::size_t>(acsr.columns) + static_cast<std::size_t>(acsr.rows[r].key(i))] = 1;
  return live;
}

Mask to_mask(const Acsr& acsr, SourceLoc loc) {
  if (acsr.rows.empty()) throw UserError(loc, "the mask has no rows", "give one or more");
  std::vector<int> first, last, stride;  // a row of none ends before it begins
  for (const Progression& row : acsr.rows) {
    first.push_back(row.first);
    last.push_back(row.count == 0 ? -1 : static_cast<int>(row.last()));
    stride.push_back(row.stride);
  }
  Table<i32> from = Table<i32>(first, loc).named("first"), to = Table<i32>(last, loc).named("last"),
             by = Table<i32>(stride, loc).named("stride");
  const bool unit = std::all_of(stride.begin(), stride.end(), [](int s) { return s == 1; });
  auto predicate = [&](Position q, Position k) {
    Position begin = from[q];
    Tile<i1> within = k >= begin && k <= to[q];
    return unit ? within : Tile<i1>(within && (k - begin) % by[q] == 0);
  };
  const auto rows = static_cast<std::int64_t>(acsr.rows.size());
  return Mask(predicate, loc)
      .named("acsr")
      .for_lengths(fmt::format("ACSR of {} rows and {} columns", rows, acsr.columns), mask::Extent::exactly(rows),
                   mask::Extent::exactly(acsr.columns));
}

const Acsr& require_regular(const AcsrScan& scan, SourceLoc loc) {
  if (scan.regular()) return scan.acsr;
  constexpr std::size_t kShown = 4;
  const std::size_t shown = std::min(scan.irregular.size(), kShown);
  const std::vector<std::int64_t> rows(scan.irregular.begin(),
                                       scan.irregular.begin() + static_cast<std::ptrdiff_t>(shown));
  throw UserError(
      loc,
      fmt::format("{} of {} rows are no arithmetic progression of keys: {}{}", scan.irregular.size(),
                  scan.acsr.rows.size(), fmt::join(rows, ", "), scan.irregular.size() > shown ? ", ..." : ""),
      "split the mask into parts that are, or use Attention, which takes any mask");
}

}  // namespace tessera
