// Closed forms in token orders: called with a query tile's digits as a kernel would, against brute force.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "dsl/mask/geometry_catalogue.h"
#include "dsl/mask/span_maps.h"

using namespace tessera;
using namespace tessera::testing;

namespace {

struct Sum {
  std::int64_t visited = 0, there = 0, full = 0, full_there = 0;
  void add(const TileMap& got, const TileMap& want) {
    for (std::size_t i = 0; i < got.tiles.size(); ++i) {
      if (want.tiles[i] == kNoQuery) continue;
      visited += got.tiles[i] != kEmpty, there += want.tiles[i] != kEmpty;
      full += got.tiles[i] == kFull, full_there += want.tiles[i] == kFull;
    }
  }
};

void check_sound(const TileMap& got, const TileMap& want) { CHECK(compare_rows(got, want).unsound == 0); }

mask::PlanRequest request(Lengths n) {
  mask::PlanRequest r;
  r.query_length = n.queries, r.key_length = n.keys;
  return r;
}

}  // namespace

TEST_CASE("spans of the catalogue cover its tile maps, and equal them where the geometry is plain") {
  const std::set<std::string> plain{"dilated",
                                    "strided",
                                    "strided causal",
                                    "fixed",
                                    "chunked",
                                    "chunked causal",
                                    "longnet",
                                    "block causal",
                                    "neighbourhood 2-D",
                                    "neighbourhood 2-D strided",
                                    "axial",
                                    "neighbourhood 2-D causal",
                                    "swin",
                                    "halonet",
                                    "axial column",
                                    "neighbourhood 3-D",
                                    "strided or local",
                                    "neighbourhood 3-D strided",
                                    "temporal split",
                                    "spatial split"};
  for (const bool odd : {false, true})
    for (const GeometryMask& m : geometry_catalogue(450, odd)) {
      CAPTURE(m.name);
      CAPTURE(odd);
      const Lengths n{m.queries, m.keys};
      const Oracle oracle(m.mask, request(n));
      Sum natural, nested, guarded;
      for (const OrderPair& pair : orders_of(m.systems, m.queries, m.keys)) {
        CAPTURE(mask::to_string(pair.queries));
        CAPTURE(mask::to_string(pair.keys));
        const std::optional<SpanMaps> maps = spans_of(m.mask, pair, n);
        if (!maps) continue;
        const mask::TokenOrder queries(pair.queries, n.queries), keys(pair.keys, n.keys);
        const TileMap want = brute_force(oracle, queries, keys);
        check_sound(maps->plain, want);
        check_sound(maps->nested, want);
        check_sound(maps->guarded, want);
        if (m.systems.empty() || pair.queries.digits.size() != m.systems[0].size() ||
            pair.keys.digits.size() != m.systems[0].size())
          continue;
        natural.add(maps->plain, want), nested.add(maps->nested, want), guarded.add(maps->guarded, want);
      }
      if (!plain.count(m.name)) continue;
      CHECK(natural.there > 0);
      CHECK(natural.visited == natural.there);
      CHECK(nested.visited == natural.there);
      CHECK(guarded.visited == natural.there);
      CHECK(natural.full * 10 >= natural.full_there * 8);
    }
}

TEST_CASE("spans hold for lengths that they were not made at") {
  for (const GeometryMask& m : geometry_catalogue(300, true)) {
    CAPTURE(m.name);
    if (m.name.find("block diffusion") == 0 || m.name == "tri shape" || m.name == "padding") continue;  // of one length
    for (const OrderPair& pair : orders_of(m.systems, m.queries, m.keys))
      for (const Lengths n : {Lengths{1, 1}, {65, 200}, {m.queries + 37, m.keys + 61}}) {
        if (pair.queries.tile() != 64) continue;
        CAPTURE(n.queries);
        CAPTURE(n.keys);
        CAPTURE(mask::to_string(pair.queries));
        CAPTURE(mask::to_string(pair.keys));
        const std::optional<SpanMaps> maps = spans_of(m.mask, pair, n);
        if (!maps) continue;
        const TileMap want = brute_force(Oracle(m.mask, request(n)), {pair.queries, n.queries}, {pair.keys, n.keys});
        check_sound(maps->plain, want);
        check_sound(maps->nested, want);
        check_sound(maps->guarded, want);
      }
  }
}

TEST_CASE("tiles that start at a row's first key cover its keys, and full ones hold live pairs only") {
  for (const GeometryMask& m : geometry_catalogue(400, true)) {
    CAPTURE(m.name);
    const Lengths n{m.queries, m.keys};
    const Oracle oracle(m.mask, request(n));
    for (const OrderPair& pair : orders_of(m.systems, m.queries, m.keys)) {
      std::string reason;
      const auto spans = mask::digit_spans(m.mask, pair.queries, pair.keys, {.anchor = mask::Anchor::row}, reason);
      if (!spans || spans->boxes != 1) continue;
      const mask::TokenOrder queries(pair.queries, n.queries), keys(pair.keys, n.keys);
      Caller caller(m.mask, queries, keys, n);
      int missed = 0, wrong = 0;
      for (std::int64_t q = 0; q < n.queries; ++q) {
        const mask::Digits values = queries.values(q);
        mask::Digits tile{};
        for (int i = 0; i < queries.digits(); ++i) tile[i] = queries.tile_of(i, values[i]);
        const SpanBox box = caller.boxes(*spans, tile).front();
        for (std::int64_t k = 0; k < n.keys; ++k) {
          const mask::Digits key = keys.values(k);
          bool visited = true, full = true;
          for (int d = 0; d < keys.digits(); ++d) {
            const Span& s = box[static_cast<std::size_t>(d)];
            const std::int64_t offset = key[static_cast<std::size_t>(d)] - s.start, at = offset / keys.tile(d);
            visited &= offset >= 0 && at >= s.begin && at < s.end;
            full &= at >= s.full_begin && at < s.full_end;
          }
          missed += oracle.live(q, k) && !visited;
          wrong += visited && full && !oracle.live(q, k);
        }
      }
      CHECK(missed == 0);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("what has no closed form in digits says why") {
  const auto reason = [](const mask::Pointwise& m) {
    std::string why;
    const mask::Order order = mask::Order::identity(64);
    CHECK_FALSE(mask::digit_spans(m, order, order, {}, why));
    CHECK_FALSE(mask::tile_guard(m, order, order, why));
    return why;
  };
  const Table doc = document_table(100, 5, 1);
  CHECK(reason(predicate("p", [&](Args& a) { return a.read("doc", doc, {a.q}) == a.read("doc", doc, {a.k}); })) ==
        "a table look-up");
  CHECK(reason(predicate("p", [&](Args& a) { return a.q * a.k < 7; })) == "q * k: nothing follows for a key");
  CHECK(reason(predicate("p", [&](Args& a) {
          Expr e = a.k == 0;
          for (int i = 1; i < 20; ++i) e = e | (a.k == 7.0 * i);
          return e;
        })) == "a union of more than 16 boxes of keys");
}
