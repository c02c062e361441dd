// Every pattern against the sentence it stands for, at every point.
#include <tessera/library/patterns.h>
#include <tessera/library/registry.h>
#include <tessera/library/scores.h>

#include <cmath>
#include <functional>

#include <doctest/doctest.h>

using namespace tessera;

namespace {

using Brute = std::function<bool(std::int64_t q, std::int64_t k, std::int64_t queries, std::int64_t keys)>;

void check_pattern(const Mask& mask, const Brute& brute, std::int64_t queries, std::int64_t keys,
                   const std::vector<mask::NamedScalar>& scalars = {}) {
  CAPTURE(queries);
  CAPTURE(keys);
  int differ = 0;
  for (std::int64_t q = 0; q < queries; ++q) {
    for (std::int64_t k = 0; k < keys; ++k) {
      mask::Point point{.q = q, .k = k, .query_length = queries, .key_length = keys};
      differ += mask::allows(mask.predicate(), point, scalars) != brute(q, k, queries, keys);
    }
  }
  CHECK(differ == 0);
}

void check_pattern(const Mask& mask, const Brute& brute) {
  for (auto [queries, keys] : {std::pair{40, 40}, {5, 2}, {2, 5}, {13, 40}, {40, 13}, {1, 1}})
    check_pattern(mask, brute, queries, keys);
}

}  // namespace

TEST_CASE("full, causal and prefix") {
  check_pattern(full, [](auto, auto, auto, auto) { return true; });
  check_pattern(causal, [](auto q, auto k, auto queries, auto keys) { return k <= q + keys - queries; });
  check_pattern(causal(Align::bottom_right),
                [](auto q, auto k, auto queries, auto keys) { return k <= q + keys - queries; });
  check_pattern(causal(Align::top_left), [](auto q, auto k, auto, auto) { return k <= q; });
  check_pattern(prefix(7, Align::top_left), [](auto q, auto k, auto, auto) { return k < 7 || k <= q; });
  check_pattern(prefix(3), [](auto q, auto k, auto queries, auto keys) { return k < 3 || k <= q + keys - queries; });
}

TEST_CASE("window includes both ends, and window(0, 0) is the query itself") {
  for (int left : {0, 1, 7, 100}) {
    for (int right : {0, 2, 100}) {
      check_pattern(window(left, right), [=](auto q, auto k, auto queries, auto keys) {
        auto own = q + keys - queries;
        return own - left <= k && k <= own + right;
      });
      check_pattern(window(left, right, Align::top_left),
                    [=](auto q, auto k, auto, auto) { return q - left <= k && k <= q + right; });
    }
  }
}

TEST_CASE("window widths can be given at the call") {
  Mask band = window(Param<i32>{"left", 2}, Param<i32>{"right", 0});
  auto brute = [](int left, int right) {
    return [=](auto q, auto k, auto queries, auto keys) {
      return q + keys - queries - left <= k && k <= q + keys - queries + right;
    };
  };
  check_pattern(band, brute(2, 0), 20, 20);
  check_pattern(band, brute(5, 3), 20, 20, {{"left", 5}, {"right", 3}});
}

TEST_CASE("sinks and windows") {
  check_pattern(sinks(4), [](auto, auto k, auto, auto) { return k < 4; });
  check_pattern(sink_window(4, 6), [](auto q, auto k, auto queries, auto keys) {
    auto own = q + keys - queries;
    return k <= own && (k >= own - 6 || k < 4);
  });
  Mask composed = (sinks(4) & causal) | window(6, 0);
  check_pattern(composed, [](auto q, auto k, auto queries, auto keys) {
    auto own = q + keys - queries;
    return k <= own && (k >= own - 6 || k < 4);
  });
}

TEST_CASE("blocks and documents") {
  check_pattern(block_diagonal(8, Align::top_left), [](auto q, auto k, auto, auto) { return q / 8 == k / 8; });
  std::vector<std::int32_t> ids = document_ids({9, 0, 20, 11});
  REQUIRE(ids.size() == 40);
  CHECK(ids[8] == 0);
  CHECK(ids[9] == 2);
  check_pattern(documents(ids), [&](auto q, auto k, auto, auto) { return ids[q] == ids[k]; }, 40, 40);
  check_pattern(
      causal & documents(ids), [&](auto q, auto k, auto, auto) { return k <= q && ids[q] == ids[k]; }, 40, 40);
  check_pattern(~documents(ids), [&](auto q, auto k, auto, auto) { return ids[q] != ids[k]; }, 40, 40);
}

TEST_CASE("patterns by name are those of the library") {
  auto made = [](const char* name, std::map<std::string, std::string> values) {
    return make_mask(pattern_named(name), values);
  };
  check_pattern(made("window", {{"left", "3"}, {"right", "1"}, {"align", "top-left"}}),
                [](auto q, auto k, auto, auto) { return q - 3 <= k && k <= q + 1; });
  check_pattern(made("causal", {}), [](auto q, auto k, auto queries, auto keys) { return k <= q + keys - queries; });
  check_pattern(made("prefix", {{"length", "4"}}),
                [](auto q, auto k, auto queries, auto keys) { return k < 4 || k <= q + keys - queries; });
  check_pattern(made("sinks", {{"count", "2"}, {"left", "3"}}), [](auto q, auto k, auto queries, auto keys) {
    auto own = q + keys - queries;
    return k <= own && (k >= own - 3 || k < 2);
  });
  check_pattern(made("block-diagonal", {{"size", "4"}, {"causal", "true"}}),
                [](auto q, auto k, auto queries, auto keys) {
                  const auto own = q + keys - queries;
                  return own >= 0 && own / 4 == k / 4 && k <= own;
                });
  check_pattern(made("block-diagonal", {{"size", "4"}, {"causal", "true"}, {"align", "top-left"}}),
                [](auto q, auto k, auto, auto) { return q / 4 == k / 4 && k <= q; });
  check_pattern(made("strided", {{"stride", "3"}, {"causal", "true"}, {"align", "top-left"}}),
                [](auto q, auto k, auto, auto) { return k <= q && (q - k) % 3 == 0; });
  check_pattern(
      made("documents", {{"lengths", "30,10"}}), [](auto q, auto k, auto, auto) { return (q < 30) == (k < 30); }, 40,
      40);
  check_pattern(made("full", {}), [](auto, auto, auto, auto) { return true; });
  CHECK(made("swin", {{"grid", "14,14"}}).predicate().lengths.at(0).queries.most == 196);
}

TEST_CASE("ALiBi slopes are the published ones, also for head counts that are no power of two") {
  std::vector<float> eight = alibi_slopes(8);
  for (int h = 0; h < 8; ++h) CHECK(eight[h] == doctest::Approx(std::exp2(-(h + 1))));
  std::vector<float> twelve = alibi_slopes(12);
  REQUIRE(twelve.size() == 12);
  for (int h = 0; h < 8; ++h) CHECK(twelve[h] == eight[h]);
  for (int h = 8; h < 12; ++h) CHECK(twelve[h] == doctest::Approx(std::exp2(-0.5 * (2 * (h - 8) + 1))));
}
