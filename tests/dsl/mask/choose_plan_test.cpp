// Which plan a mask gets: runs of consecutive tokens, unless token orders or other tiles are clearly faster.
#include <doctest/doctest.h>

#include <tessera/dsl/mask/choose_plan.h>
#include <tessera/dsl/mask/lists.h>

#include "dsl/mask/geometry_catalogue.h"
#include "dsl/mask/maps.h"
#include "dsl/mask/predicates.h"
#include "dsl/mask/workloads.h"

using namespace tessera;
using namespace tessera::testing;

namespace {

mask::PlanRequest request(std::int64_t tokens, std::int64_t heads) {
  mask::PlanRequest r;
  r.query_length = r.key_length = tokens;
  r.heads = heads;
  return r;
}

std::string orders(const mask::Plan& plan) {
  std::string text;
  for (const mask::Pass& pass : plan.passes) {
    text += (text.empty() ? "Q" : " >> Q") + to_string(pass.queries);
    for (const mask::Source& source : pass.sources)
      text +=
          " K" + to_string(source.keys) + (std::holds_alternative<mask::Spans>(source.schedule) ? " spans" : " list");
  }
  return text;
}

std::string chosen(const mask::Pointwise& mask, const mask::PlanRequest& r, int dim = 128) {
  return orders(mask::choose_plan(mask, r, h200_costs(dim)));
}

mask::Pointwise dilated(int step, int reach) {
  return predicate("dilated", [=](Args& a) { return (abs(a.q - a.k) <= step * reach) & ((a.q - a.k) % step == 0); });
}

}  // namespace

TEST_CASE("masks without digits stay as they are") {
  CHECK(chosen(mask::everything(), request(16384, 16)) == "Q[1:128] K[1:128] spans");
  CHECK(chosen(predicate("causal", [](Args& a) { return a.k <= a.q; }), request(16384, 16)) ==
        "Q[1:128] K[1:128] spans");
  CHECK(chosen(predicate("window", [](Args& a) { return (a.k <= a.q) & (a.q - a.k < 1024); }), request(16384, 16)) ==
        "Q[1:128] K[1:128] spans");
}

TEST_CASE("grids are cut in boxes, residues in classes") {
  CHECK(chosen(neighbourhood_grid({{128, 33}, {128, 33}}), request(16384, 16)) ==
        "Q[128:8, 1:16] K[128:8, 1:16] spans");
  CHECK(chosen(dilated(4, 512), request(16384, 16)) == "Q[4:128, 1:1] K[4:128, 1:1] spans");
}

TEST_CASE("rows that want two orders are a chain, where a second launch and O once more pay") {
  const mask::Pointwise axial =
      predicate("axial", [](Args& a) { return (a.q / 128 == a.k / 128) | (a.q % 128 == a.k % 128); });
  const mask::Pointwise strided =
      predicate("strided", [](Args& a) { return (a.k <= a.q) & ((a.q - a.k < 256) | ((a.q - a.k) % 64 == 0)); });
  const std::string crossed = "Q[1:128] K[1:128] spans >> Q[128:128, 1:1] K[128:128, 1:1] list";
  CHECK(chosen(axial, request(16384, 16)) == crossed);
  CHECK(chosen(strided, request(16384, 16)).find(" >> Q[64:") != std::string::npos);
  mask::TargetCosts costs = h200_costs(128);
  const auto passes = [&] { return mask::choose_plan(axial, request(16384, 16), costs).passes.size(); };
  CHECK(passes() == 2);
  costs.bytes_per_second /= 1000;
  CHECK(passes() == 1);
  costs = h200_costs(128);
  costs.launch_seconds = 1e-3;
  CHECK(passes() == 1);
}

TEST_CASE("the passes of a chain have no pair in common, and all pairs of the mask") {
  const mask::Pointwise axial =
      predicate("axial", [](Args& a) { return (a.q / 64 == a.k / 64) | (a.q % 64 == a.k % 64); });
  const mask::PlanRequest r = request(4095, 256);
  const mask::Plan plan = mask::choose_plan(axial, r, h200_costs(128));
  REQUIRE(plan.passes.size() == 2);
  const mask::Pointwise &first = *plan.passes[0].sources.at(0).part, &second = *plan.passes[1].sources.at(0).part;
  const Oracle all(axial, r), one(first, r), other(second, r);
  int wrong = 0;
  for (std::int64_t q = 0; q < r.query_length; q += 509)
    for (std::int64_t k = 0; k < r.key_length; ++k) wrong += all.live(q, k) != one.live(q, k) + other.live(q, k);
  CHECK(wrong == 0);
}

TEST_CASE("what a launch does not gain by is not searched for") {
  CHECK(chosen(dilated(4, 512), request(1024, 1)) == "Q[1:128] K[1:128] list");
  CHECK(chosen(predicate("halves", [](Args& a) { return a.k / 8192 <= a.q / 8192; }), request(16384, 16)) ==
        "Q[1:128] K[1:128] spans");
}

TEST_CASE("tiles are what products take, whatever the grid's columns") {
  for (int columns = 2; columns < 40; ++columns) {
    const auto near = predicate("near", [=](Args& a) {
      return (abs(a.q / columns - a.k / columns) <= 9) & (abs(a.q % columns - a.k % columns) <= 2);
    });
    CAPTURE(columns);
    for (const mask::Pass& pass : mask::choose_plan(near, request(16384, 16), h200_costs(128)).passes) {
      CAPTURE(to_string(pass.queries));
      CHECK((!pass.queries.is_identity() || pass.queries.tile() % 64 == 0));
      for (const mask::Source& source : pass.sources)
        CHECK((!source.keys.is_identity() || source.keys.tile() % 16 == 0));
    }
  }
}

TEST_CASE("plans whose tiles do not fit in shared memory are passed over") {
  const mask::Pointwise grid = neighbourhood_grid({{128, 33}, {128, 33}});
  mask::TargetCosts costs = h200_costs(128);
  const auto chosen_with = [&](std::int64_t bytes) {
    costs.shared_bytes = bytes;
    return orders(mask::choose_plan(grid, request(16384, 16), costs)).substr(0, 17);
  };
  // Two stages of 128 rows of Q, K and V at 128 columns of 16 bits.
  CHECK(chosen_with(2 * 3 * 128 * 256) == "Q[128:8, 1:16] K[");
  CHECK(chosen_with(2 * 3 * 128 * 256 - 1) != "Q[128:8, 1:16] K[");
  CHECK(chosen_with(1) == "Q[1:128] K[1:128]");
}

TEST_CASE("an order that fits the first head alone is not taken") {
  const auto mixture = predicate("mixture", [](Args& a) {
    return ((a.head == 0) & ((a.q - a.k) % 4 == 0) & (abs(a.q - a.k) <= 2048)) | ((a.head > 0) & (abs(a.q - a.k) < 64));
  });
  CHECK(chosen(mixture, request(16384, 1)).substr(0, 15) == "Q[4:128, 1:1] K");
  CHECK(chosen(mixture, request(16384, 16)).substr(0, 10) == "Q[1:128] K");
}

TEST_CASE("spans in token orders count what lists do") {
  for (const auto& [mask, tokens] : {std::pair{neighbourhood_grid({{128, 33}, {128, 33}}), 16384},
                                     {neighbourhood_grid({{96, 21}, {120, 31}}), 96 * 120},
                                     {dilated(4, 512), 16383},
                                     {dilated(7, 300), 20000}}) {
    const mask::PlanRequest r = request(tokens, 16);
    mask::Plan plan = mask::choose_plan(mask, r, h200_costs(128));
    CAPTURE(orders(plan));
    REQUIRE_FALSE(mask::is_plain(plan));
    REQUIRE(std::holds_alternative<mask::Spans>(plan.passes[0].sources[0].schedule));
    const mask::Counts spans = plan.counts();
    mask::make_lists(plan.passes[0], mask, r);
    const mask::Counts list = plan.counts();
    CHECK(spans.total == list.total);
    CHECK(spans.visited == list.visited);
    CHECK(spans.full == list.full);
    CHECK(spans.later == list.later);
  }
}
