// Box classes and lists in token orders against brute force.
#include <doctest/doctest.h>

#include "dsl/mask/geometry_catalogue.h"
#include "dsl/mask/order_maps.h"

using namespace tessera;
using namespace tessera::testing;

namespace {

mask::PlanRequest lengths_of(const GeometryMask& m) {
  mask::PlanRequest r;
  r.query_length = m.queries, r.key_length = m.keys;
  return r;
}

mask::PositionValues bound_of(const GeometryMask& m) {
  mask::PositionValues bound{};
  bound[mask::at_head] = bound[mask::at_batch] = 0;
  bound[mask::at_query_length] = m.queries, bound[mask::at_key_length] = m.keys;
  return bound;
}

void check_catalogue(std::int64_t length, bool odd) {
  std::int64_t visited = 0, mistaken = 0;
  for (const GeometryMask& m : geometry_catalogue(length, odd)) {
    CAPTURE(m.name);
    const Oracle oracle(m.mask, lengths_of(m));
    for (const OrderPair& pair : orders_of(m.systems, m.queries, m.keys)) {
      CAPTURE(mask::to_string(pair.queries));
      CAPTURE(mask::to_string(pair.keys));
      const mask::TokenOrder queries(pair.queries, m.queries), keys(pair.keys, m.keys);
      mask::Expressions e(m.mask);
      mask::BoxAnalysis analysis(e, e.body(bound_of(m), true), {queries, keys});
      mask::TileList list;
      mask::append_rows(analysis, queries, keys, list);
      const TileMap want = brute_force(oracle, queries, keys);
      const Difference d = compare_rows(listed(list, queries, keys), want);
      CHECK(d.unsound == 0);
      if ((d.kept + d.lost) * 50 > static_cast<int>(list.tiles.size()))
        MESSAGE(m.name << " " << mask::to_string(pair.queries) << " " << mask::to_string(pair.keys) << ": kept "
                       << d.kept << " lost " << d.lost << " of " << list.tiles.size());
      visited += static_cast<std::int64_t>(list.tiles.size()), mistaken += d.kept + d.lost;
    }
  }
  CHECK(visited > 10000);
  CHECK(mistaken * 1000 <= visited);
}

}  // namespace

TEST_CASE("tile maps of the catalogue in its orders equal brute force") {
  check_catalogue(1000, false);
  check_catalogue(1000, true);
}

TEST_CASE("a token order names every token once, and its tiles cover them") {
  for (const std::vector<std::int64_t>& weights :
       {std::vector<std::int64_t>{1}, {4, 1}, {7, 3, 1}, {60, 11, 4, 1}, {1000, 1}}) {
    for (const std::int64_t tokens : {1, 5, 59, 60, 61, 1000}) {
      mask::Order order;
      for (std::size_t i = 0; i < weights.size(); ++i)
        order.digits.push_back({weights[i], static_cast<int>(2 + i), static_cast<int>(i % 2)});
      const mask::TokenOrder o(order, tokens);
      std::int64_t seen = 0;
      for (std::int64_t t = 0; t < o.tiles(); ++t) {
        const mask::Digits at = o.coordinates(t);
        CHECK(o.number(at) == t);
        mask::Digits values{};
        const std::function<void(int)> walk = [&](int i) {
          if (i == o.digits()) {
            if (!o.valid(values)) return;
            ++seen;
            CHECK(o.values(o.position(values)) == values);
            return;
          }
          CHECK(o.clipped(i, at[i]) == (o.last(i, at[i]) - o.first(i, at[i]) + 1 != o.tile(i)));
          for (values[i] = o.first(i, at[i]); values[i] <= o.last(i, at[i]); ++values[i]) walk(i + 1);
          values[i] = 0;
        };
        walk(0);
      }
      CHECK(seen == tokens);
      for (std::int64_t n = 0; n < tokens; ++n) CHECK(o.position(o.values(n)) == n);
    }
  }
}

TEST_CASE("digits that are no order are refused") {
  using Digits = std::vector<mask::OrderDigit>;
  for (const Digits& digits : {Digits{}, Digits{{2, 1, 0}}, Digits{{4, 1, 0}, {4, 1, 0}, {1, 1, 0}}, Digits{{1, 0, 0}},
                               Digits{{1, 4, 4}}, Digits{{1, 4, -1}}})
    CHECK_THROWS_AS(mask::TokenOrder(mask::Order{digits}, 10), InternalError);
}
