#include <doctest/doctest.h>

#include <tessera/dsl/mask/pointwise.h>

#include "dsl/mask/predicates.h"

using namespace tessera;
using namespace tessera::testing;

namespace {

mask::Pointwise same_id(const Table& ids, const std::string& name = "doc") {
  return predicate("documents", [&](Args& a) { return a.read(name, ids, {a.q}) == a.read(name, ids, {a.k}); });
}
mask::Pointwise near(const std::string& name, double width) {
  return predicate("near", [&](Args& a) { return abs(a.q - a.k) <= a.scalar(name, width); });
}

}  // namespace

TEST_CASE("tables clamp indices, and hash by content and shape") {
  const Table a = mask::TableData::make(std::vector<std::int32_t>{1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(a->at({1, 0}) == 4);
  CHECK(a->at({-5, 9}) == 3);
  CHECK(a->at({9, 9}) == 6);
  CHECK(a->hash() == mask::TableData::make(std::vector<std::int32_t>{1, 2, 3, 4, 5, 6}, {2, 3})->hash());
  CHECK(a->hash() != mask::TableData::make(std::vector<std::int32_t>{1, 2, 3, 4, 5, 6}, {3, 2})->hash());
  CHECK(a->hash() != mask::TableData::make(std::vector<std::int32_t>{1, 2, 3, 4, 5, 7}, {2, 3})->hash());
  CHECK(table({})->at({0}) == 0);
  CHECK_THROWS_AS(mask::TableData::make(std::vector<float>{1, 2}, {3}), UserError);
}

TEST_CASE("composition computes what it says, with captures of both sides") {
  const Table ids = table({0, 0, 1, 1, 2}), other = table({5, 5, 5, 6, 6});
  const mask::Pointwise docs = same_id(ids), window = near("width", 1), pages = same_id(other);
  const mask::Pointwise all = mask::both(docs, window), some = mask::either(docs, pages), none = mask::negated(some);
  CHECK(all.captures.size() == 2);
  CHECK(some.captures.size() == 2);
  CHECK(some.function.params[0].name != some.function.params[1].name);
  CHECK(none.captures.size() == 2);
  for (std::int64_t q = 0; q < 5; ++q)
    for (std::int64_t k = 0; k < 5; ++k) {
      const bool d = ids->at({q}) == ids->at({k}), p = other->at({q}) == other->at({k});
      CHECK(mask::allows(all, {q, k}) == (d && std::abs(q - k) <= 1));
      CHECK(mask::allows(all, {q, k}, {{"width", 0}}) == (d && q == k));
      CHECK(mask::allows(some, {q, k}) == (d || p));
      CHECK(mask::allows(none, {q, k}) == !(d || p));
      CHECK(mask::allows(mask::everything(), {q, k}));
    }
}

TEST_CASE("equal captures are one parameter") {
  const mask::Pointwise a = same_id(table({1, 2, 3})), b = same_id(table({1, 2, 3}), "ids");
  CHECK(mask::both(a, b).captures.size() == 1);
  CHECK(mask::both(near("width", 4), near("width", 4)).captures.size() == 1);
  CHECK(mask::both(near("left", 4), near("right", 4)).captures.size() == 2);
  CHECK(mask::both(same_id(nullptr), same_id(nullptr)).captures.size() == 1);
  CHECK(mask::both(same_id(nullptr), a).captures.size() == 2);
  CHECK_THROWS_WITH_AS(
      mask::both(near("width", 4), near("width", 5)),
      "error: scalar 'width' has two defaults, 4.000000 and 5.000000; note: give the two scalars different names",
      UserError);
}

TEST_CASE("data of the call") {
  CHECK(same_id(nullptr).data_at_call());
  CHECK_FALSE(same_id(table({1})).data_at_call());
  CHECK_THROWS_AS(mask::allows(same_id(nullptr), {0, 0}), UserError);
}

TEST_CASE("i32 wraps, division floors, division by zero is zero") {
  const auto value = [](auto body, std::int64_t q, std::int64_t k) {
    return mask::allows(predicate("p", body), {q, k});
  };
  CHECK(value([](Args& a) { return (a.q - a.k) / 4 == -2; }, 0, 5));
  CHECK(value([](Args& a) { return (a.q - a.k) % 4 == 3; }, 0, 5));
  CHECK(value([](Args& a) { return a.q / a.k == 0; }, 7, 0));
  CHECK(value([](Args& a) { return a.q % a.k == 0; }, 7, 0));
  CHECK(value([](Args& a) { return a.q * 65536 == -2147483648.0; }, 32768, 0));
}
