#include <tessera/dsl/ir/layout.h>

#include <map>
#include <set>

#include <doctest/doctest.h>

using namespace tessera;
using namespace tessera::ir;

namespace {

const Axis query = Axis::named("Query"), key = Axis::named("Key");

Layout accumulator(int columns) {
  return Layout({{2, key, 1}, {2, query, 8}, {columns / 8, key, 8}}, {{4, key, 2}, {8, query, 1}}, {{4, query, 16}});
}

template <class F>
void each_place(const Layout& layout, F f) {
  for (int warp = 0; warp < layout.size(Part::warp); ++warp) {
    for (int lane = 0; lane < layout.size(Part::lane); ++lane) {
      for (int reg = 0; reg < layout.size(Part::reg); ++reg) f(reg, lane, warp);
    }
  }
}

// How many places hold each element.
std::map<std::pair<int, int>, int> holders(const Layout& layout) {
  std::map<std::pair<int, int>, int> count;
  each_place(layout, [&](int reg, int lane, int warp) {
    ++count[{layout.at(query, reg, lane, warp), layout.at(key, reg, lane, warp)}];
  });
  return count;
}

}  // namespace

TEST_CASE("the accumulator is onto and one to one, for widths that are no powers of two too") {
  for (int columns : {8, 16, 24, 80, 128, 256}) {
    CAPTURE(columns);
    Layout layout = accumulator(columns);
    CHECK(layout.size(Part::reg) == columns / 2);
    CHECK(layout.size(Part::lane) == 32);
    CHECK(layout.size(Part::warp) == 4);
    auto count = holders(layout);
    REQUIRE(count.size() == static_cast<std::size_t>(64 * columns));
    for (const auto& [at, places] : count) {
      REQUIRE(places == 1);
      REQUIRE((at.first >= 0 && at.first < 64 && at.second >= 0 && at.second < columns));
    }
  }
}

TEST_CASE("the worked example of the header") {
  Layout layout = accumulator(128);
  CHECK(layout.at(query, 2, 5, 1) == 25);
  CHECK(layout.at(key, 2, 5, 1) == 2);
  CHECK(to_string(layout) == "{reg 2*Key:1 2*Query:8 16*Key:8 | lane 4*Key:2 8*Query:1 | warp 4*Query:16}");
}

TEST_CASE("a slice holds what the layout holds, less the axis") {
  for (int columns : {8, 80, 128}) {
    for (Axis axis : {query, key}) {
      CAPTURE(columns);
      CAPTURE(axis.name());
      Layout layout = accumulator(columns);
      Layout slice = layout.slice(axis);
      Axis rest = axis == query ? key : query;
      CHECK(slice.size(Part::lane) == 32);
      CHECK(slice.size(Part::warp) == 4);
      CHECK(slice.replicates(Part::lane));
      CHECK_FALSE(slice.replicates(Part::reg));
      each_place(layout, [&](int reg, int lane, int warp) {
        int kept = slice.register_of({{rest, layout.part_at(rest, Part::reg, reg)}});
        REQUIRE(kept >= 0);
        REQUIRE(slice.at(rest, kept, lane, warp) == layout.at(rest, reg, lane, warp));
        REQUIRE(slice.at(axis, kept, lane, warp) == 0);
      });
      std::set<int> reached;
      each_place(slice, [&](int reg, int lane, int warp) { reached.insert(slice.at(rest, reg, lane, warp)); });
      CHECK(reached.size() == static_cast<std::size_t>(rest == query ? 64 : columns));
    }
  }
}

TEST_CASE("replicating digits make several places hold one element") {
  Layout rows = accumulator(128).slice(key);
  CHECK(to_string(rows) == "{reg 2*Query:8 | lane 4 8*Query:1 | warp 4*Query:16}");
  for (const auto& [at, places] : holders(rows)) REQUIRE(places == 4);
  CHECK_FALSE(rows.replicates(Part::warp));
  CHECK(accumulator(128).slice(query).replicates(Part::warp));
}

TEST_CASE("a coordinate is the sum of what its parts contribute") {
  Layout layout = accumulator(80);
  each_place(layout, [&](int reg, int lane, int warp) {
    for (Axis axis : {query, key}) {
      REQUIRE(layout.at(axis, reg, lane, warp) == layout.part_at(axis, Part::reg, reg) +
                                                      layout.part_at(axis, Part::lane, lane) +
                                                      layout.part_at(axis, Part::warp, warp));
    }
    REQUIRE(layout.register_of(
                {{query, layout.part_at(query, Part::reg, reg)}, {key, layout.part_at(key, Part::reg, reg)}}) == reg);
  });
  CHECK(layout.register_of({{query, 4}}) == -1);
}

TEST_CASE("digits of size 1 change nothing, and are not there") {
  Layout plain({{2, key, 1}}, {{32, query, 1}}, {});
  Layout padded({{1, query, 7}, {2, key, 1}, {1, {}, 0}}, {{32, query, 1}}, {{1, key, 3}});
  CHECK(plain == padded);
  CHECK(padded.size(Part::warp) == 1);
  CHECK_THROWS_AS(Layout({{0, key, 1}}, {}, {}), InternalError);
}
