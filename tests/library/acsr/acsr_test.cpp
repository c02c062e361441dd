// ACSR: from and to every other form, which masks are regular, and how rows are laid out in bands.
#include <cmath>
#include <map>
#include <random>
#include <set>

#include <doctest/doctest.h>

#include <tessera/dsl/mask/expression.h>
#include <tessera/library/acsr/layout.h>
#include <tessera/library/patterns.h>

#include "library/acsr/random_rows.h"
#include "library/catalogue/catalogue.h"
#include "support/refusal.h"

using namespace tessera;
using namespace tessera::test;

namespace {

std::vector<std::uint8_t> dense_of(const Mask& mask, const AcsrShape& s) {
  mask::Expressions e(mask.predicate());
  mask::PointProgram program(e, e.body({}, true));
  std::vector<std::uint8_t> live;
  for (std::int64_t q = 0; q < s.queries; ++q)
    for (std::int64_t k = 0; k < s.keys; ++k)
      live.push_back(program.test({q, k, s.head, s.batch, s.queries, s.keys, 0, 0, 0}));
  return live;
}

// Percent of rows that are a progression, rounded.
int regular_share(const Mask& mask, std::int64_t n) {
  const AcsrScan scan = acsr_of(mask, {.queries = n, .keys = n});
  return static_cast<int>(std::lround(
      100.0 * static_cast<double>(n - static_cast<std::int64_t>(scan.irregular.size())) / static_cast<double>(n)));
}

template <class Work>
std::string refusal(const Work& work) {
  return refusal_in(__FILE__, work);
}

}  // namespace

TEST_CASE("random rows survive every form bit for bit") {
  std::mt19937_64 random(11);
  for (int i = 0; i < 60; ++i) {
    const Acsr acsr = random_acsr(random, i % 7 * 13, 1 + i % 5 * 31);
    const auto rows = static_cast<std::int64_t>(acsr.rows.size());
    const AcsrScan by_dense = acsr_of_dense(to_dense(acsr), rows, acsr.columns);
    CHECK(by_dense.regular());
    CHECK(by_dense.acsr == acsr);
    const AcsrScan by_csr = acsr_of(to_csr(acsr));
    CHECK(by_csr.regular());
    CHECK(by_csr.acsr == acsr);
    CHECK(to_csr(acsr).columns.size() == static_cast<std::size_t>(acsr.nnz()));
    if (rows == 0) continue;
    const Mask mask = to_mask(acsr);
    CHECK(dense_of(mask, {.queries = rows, .keys = acsr.columns}) == to_dense(acsr));
    CHECK(acsr_of(mask, {.queries = rows, .keys = acsr.columns}).acsr == acsr);
  }
}

TEST_CASE("the catalogue from its predicates is that of its elements") {
  std::set<std::string> regular;
  for (auto* family : {basic_cases, block_cases, strided_cases, packed_cases, grid_cases, video_cases})
    for (const CatalogueCase& c : family()) {
      const AcsrShape shape{c.queries, c.keys, c.heads - 1, c.batch - 1};
      const AcsrScan scan = acsr_of(c.mask, shape), brute = acsr_of_dense(dense_of(c.mask, shape), c.queries, c.keys);
      CAPTURE(c.name);
      CHECK(scan.acsr == brute.acsr);
      CHECK(scan.irregular == brute.irregular);
      if (scan.regular()) regular.insert(c.name);
    }
  for (const char* name :
       {"1 full", "2 causal", "3 window, two-sided", "4 window, causal", "5 dilated window", "6 blocked",
        "7 block-diagonal", "8 documents", "9 prefix", "11 block-causal", "23 strided", "24 strided block-local",
        "25 LongNet", "29 padding", "35 axial, row", "35 axial, column", "40 temporal"})
    CHECK(regular.count(name) == 1);
  for (const char* name : {"34 HaloNet", "37 radial", "32 Swin"}) CHECK(regular.count(name) == 0);
}

TEST_CASE("which masks are regular, as it was counted before") {
  constexpr std::int64_t n = 256;
  for (const Mask& mask : {Mask(causal), window(32, 32), window(31, 0), dilated_window(8, 4), blocked(32), strided(16),
                           prefix(64), causal & block_diagonal(32)})
    CHECK(regular_share(mask, n) == 100);
  CHECK(regular_share(sink_window(4, 31), n) == 14);
  CHECK(regular_share(sink_window(8, 31), n) == 16);
  CHECK(regular_share(global_window(16, 8), n) == 10);
  CHECK(regular_share(sparse_strided(16), n) == 13);
  CHECK(regular_share(neighborhood(Grid{16, 16}, {.window = 5}), n) == 0);
  CHECK(regular_share(swin(Grid{16, 16}, {.window = 4}), n) == 0);
  CHECK(regular_share(axial(Grid{16, 16}), n) == 0);
}

TEST_CASE("a long mask takes three numbers a row, and no look at its pairs") {
  const AcsrScan scan = acsr_of(window(1023, 0), {.queries = 100000, .keys = 100000});
  REQUIRE(scan.regular());
  CHECK(sizeof(Progression) == 12);
  CHECK(scan.acsr.rows.size() == 100000);
  CHECK(scan.acsr.nnz() == 1024 * 100000LL - 1024 * 1023 / 2);
  CHECK(scan.acsr.widest() == 1024);
  CHECK(scan.acsr.rows[5000] == Progression{1, 3977, 1024});
}

TEST_CASE("rows of none, of one, and those that are no progression") {
  const std::vector<std::uint8_t> live = {0, 0, 0, 0, 0,   //
                                          0, 0, 0, 1, 0,   //
                                          1, 0, 1, 0, 1,   //
                                          1, 1, 0, 1, 0,   // 0, 1, 3
                                          1, 0, 0, 0, 1,   //
                                          1, 0, 0, 1, 1};  // 0, 3, 4
  const AcsrScan scan = acsr_of_dense(live, 6, 5);
  CHECK(scan.irregular == std::vector<std::int64_t>{3, 5});
  CHECK(scan.acsr.rows == std::vector<Progression>{{1, 0, 0}, {1, 3, 1}, {2, 0, 3}, {1, 0, 0}, {4, 0, 2}, {1, 0, 0}});
  CHECK(refusal([&] { require_regular(scan); }) ==
        "error: 2 of 6 rows are no arithmetic progression of keys: 3, 5; note: split the mask into parts that are, or "
        "use Attention, which takes any mask");
  const AcsrScan many = acsr_of(sink_window(1, 1), {.queries = 9, .keys = 9});
  CHECK(refusal([&] {
          require_regular(many);
        }).starts_with("error: 6 of 9 rows are no arithmetic progression of keys: 3, 4, 5, 6, ...; note: "));
}

TEST_CASE("spans of bands are their live keys' ends") {
  std::mt19937_64 random(5);
  for (std::int64_t height : {1, 4, 16, 100}) {
    const Acsr acsr = random_acsr(random, 50, 40);
    const auto live = to_dense(acsr);
    const auto spans = spans_of(acsr, height);
    REQUIRE(static_cast<std::int64_t>(spans.size()) == (50 + height - 1) / height);
    for (std::size_t b = 0; b < spans.size(); ++b) {
      KeySpan want;
      for (std::int64_t k = 0; k < 40; ++k)
        for (std::int64_t r = static_cast<std::int64_t>(b) * height;
             r < std::min<std::int64_t>(50, (static_cast<std::int64_t>(b) + 1) * height); ++r)
          if (live[static_cast<std::size_t>(r * 40 + k)]) want = {want.last < 0 ? k : want.first, k};
      CHECK(spans[b] == want);
    }
  }
}

TEST_CASE("regrouped rows share stride and residue, band by band") {
  const AcsrScan scan = acsr_of(strided(6), {.queries = 50, .keys = 50});
  const auto slots = regrouped_rows(scan.acsr, 4);
  CHECK(slots.size() % 4 == 0);
  std::set<std::int64_t> seen;
  for (std::size_t band = 0; band < slots.size(); band += 4) {
    std::set<std::pair<std::int64_t, std::int64_t>> kinds;
    for (std::size_t i = band; i < band + 4; ++i) {
      if (slots[i] < 0) continue;
      const Progression& row = scan.acsr.rows[static_cast<std::size_t>(slots[i])];
      kinds.insert({row.stride, row.first % row.stride});
      CHECK(seen.insert(slots[i]).second);
    }
    CHECK(kinds.size() == 1);
  }
  CHECK(seen.size() == 50);
  CHECK(slots[0] == 0);
  CHECK(slots[1] == 6);
}

TEST_CASE("layouts hold every row once, with all its keys, in few launches") {
  std::mt19937_64 random(8);
  std::vector<Acsr> all{random_acsr(random, 70, 90), random_acsr(random, 5, 1), random_acsr(random, 0, 7)};
  for (const Mask& mask : {Mask(causal), window(20, 9), strided(7), dilated_window(5, 3), block_diagonal(24)})
    all.push_back(acsr_of(mask, {.queries = 130, .keys = 150}).acsr);
  for (const Acsr& acsr : all)
    for (std::int64_t height : {1, 8, 64}) {
      const AcsrLayout layout = acsr_layout(acsr, height);
      std::vector<int> times(acsr.rows.size(), 0);
      std::size_t next = 0;
      for (const AcsrLaunch& launch : layout.launches) {
        REQUIRE(launch.first == next);
        next += launch.count;
        for (std::size_t i = 0; i < launch.count; ++i) {
          const AcsrBand& band = layout.bands[launch.first + i];
          const auto at = static_cast<std::int64_t>(i);
          CHECK(band.row == layout.bands[launch.first].row + at * launch.row_distance);
          CHECK(band.key == layout.bands[launch.first].key + at * launch.key_distance);
          CHECK(band.rows <= height);
          CHECK(band.rows == layout.bands[launch.first].rows);
          CHECK((launch.width == 0 || band.key + (launch.width - 1) * band.key_step < acsr.columns));
          CHECK(band.key >= 0);
          for (std::int64_t r = 0; r < band.rows; ++r) {
            const std::int64_t number = band.row + r * band.row_step;
            ++times[static_cast<std::size_t>(number)];
            const Progression& row = acsr.rows[static_cast<std::size_t>(number)];
            for (std::int64_t j = 0; j < row.count; ++j) {
              const std::int64_t away = row.key(j) - band.key;
              REQUIRE((away >= 0 && away % band.key_step == 0 && away / band.key_step < launch.width));
            }
          }
        }
      }
      CHECK(next == layout.bands.size());
      CHECK(times == std::vector<int>(acsr.rows.size(), 1));
    }
  // A window: the first bands, those in the middle, which go on evenly, and the last.
  CHECK(acsr_layout(acsr_of(window(127, 0), {.queries = 4096, .keys = 4096}).acsr, 64).launches.size() <= 3);
  CHECK(acsr_layout(acsr_of(strided(16), {.queries = 4096, .keys = 4096}).acsr, 64).launches.size() == 16);
}

TEST_CASE("what ACSR refuses") {
  const std::vector<std::uint8_t> five(5, 1);
  CHECK(refusal([&] { acsr_of_dense(five, 2, 3); }) ==
        "error: a mask of 2 x 3 is given 5 elements; note: give rows x columns of them");
  CHECK(refusal([&] { acsr_of_dense(five, -1, 3); }) ==
        "error: there are -1 rows of 3 columns; note: give 0 to 2^31 - 1 of each");
  const auto csr = [](std::vector<std::int64_t> offsets, std::vector<std::int32_t> columns) {
    return refusal([&] { acsr_of(Csr{8, std::move(offsets), std::move(columns)}); });
  };
  CHECK(csr({}, {}) ==
        "error: 0 offsets are from 0 to 0, for 0 columns; note: give one more offset than there are rows, "
        "from 0 to the number of columns");
  CHECK(csr({0, 1}, {1, 2}) ==
        "error: 2 offsets are from 0 to 1, for 2 columns; note: give one more offset than there "
        "are rows, from 0 to the number of columns");
  CHECK(csr({0, 2, 1, 2}, {1, 2}) == "error: the offsets of row 1 are 2 and 1; note: give them in ascending order");
  CHECK(csr({0, 1}, {8}) == "error: row 0 has column 8, of 8; note: give columns that there are");
  CHECK(csr({0, 0, 2}, {3, 3}) ==
        "error: column 3 of row 1 is after column 3; note: give each column once, in ascending order");
  CHECK(refusal([] { acsr_of(swin(Grid{8, 8}, {.window = 4}), {.queries = 64, .keys = 60}); }) ==
        "error: the grid 8 x 8 takes 64 keys, and there are 60; note: give 64 keys, or make the mask for 60");
  Table<i32> late("late");
  CHECK(refusal([&] { acsr_of([=](Position q, Position k) { return late[q] == k; }, {.queries = 4, .keys = 4}); }) ==
        "error: the mask reads a table whose contents come with the call; note: capture the table's data");
  CHECK(refusal([] { to_mask({}); }) == "error: the mask has no rows; note: give one or more");
  CHECK(refusal([] { spans_of({}, 0); }) == "error: a band has 0 rows; note: give 1 or more");
}
