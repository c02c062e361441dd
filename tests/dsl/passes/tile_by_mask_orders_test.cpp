// Attention in token orders, tiled and run: what fp64 attention is, whatever the orders of queries and keys.
#include <regex>

#include <doctest/doctest.h>

#include <tessera/dsl/ir/verify.h>
#include <tessera/dsl/passes/simplify.h>
#include <tessera/dsl/passes/tile_by_mask.h>

#include "dsl/mask/at_points.h"
#include "dsl/mask/order_plans.h"
#include "dsl/mask/predicates.h"
#include "dsl/passes/attention_program.h"
#include "support/sanitized.h"

using namespace tessera;
using namespace tessera::testing;
using mask::Order;

namespace {

passes::Tiling whole(int depth, int value) {
  return {.tiles = {}, .whole = {{ir::Axis::named("Depth"), depth}, {ir::Axis::named("Value"), value}}};
}

mask::PlanRequest request(Lengths lengths) {
  mask::PlanRequest r;
  r.query_length = lengths.queries, r.key_length = lengths.keys;
  return r;
}

AllowedPair pairs_of(const mask::Pointwise& m, Lengths lengths) {
  return [allows = at_points(m), lengths](std::int64_t q, std::int64_t k) {
    return allows({q, k, 0, 0, lengths.queries, lengths.keys});
  };
}

// Tiled by `plan`, printed and read again, and run.
bool is_right(const mask::Pointwise& m, mask::PlanRequest r, const mask::Plan& plan) {
  Inputs in(r.batch, r.heads, r.heads, r.query_length, r.key_length, 8, 8);
  for (std::size_t b = 0; b < r.key_lengths.size(); ++b)
    for (std::int64_t k = r.key_lengths[b]; k < r.key_length; ++k)
      for (std::int64_t h = 0; h < r.heads; ++h)
        for (std::int64_t d = 0; d < 8; ++d) {
          const auto batch = static_cast<std::int64_t>(b);
          in.k.set({batch, h, k, d}, NAN), in.v.set({batch, h, k, d}, NAN);
        }
  const ir::Kernel traced = passes::simplify(forward(m, !r.key_lengths.empty()));
  const ir::Kernel tiled = passes::simplify(passes::tile_by_mask(traced, &plan, whole(8, 8)));
  ir::check(tiled, "simplify");
  const std::string text = ir::print(tiled);
  const ir::Kernel again = ir::parse(text);
  CHECK(ir::print(again) == text);
  return is_attention(run(again, in, m, r, &plan), attention_problem(in, m, r));
}

mask::Pointwise grid_window(int columns, int down, int across) {
  return predicate("grid", [&](Args& a) {
    return (abs(a.q / columns - a.k / columns) <= number(a.q, down)) &
           (abs(a.q % columns - a.k % columns) <= number(a.q, across));
  });
}

mask::Pointwise dilated(int step, int reach) {
  return predicate("dilated",
                   [&](Args& a) { return (abs(a.q - a.k) <= number(a.q, step * reach)) & ((a.q - a.k) % step == 0); });
}

}  // namespace

TEST_CASE("an order's tiles hold every token once, whatever the length") {
  for (const Order& order :
       {Order{{{1, 7, 3}}}, Order{{{4, 8}, {1, 1}}}, Order{{{16, 4}, {1, 8}}}, Order{{{10, 3, 1}, {1, 4, 2}}},
        Order{{{60, 2}, {7, 3}, {1, 4}}}, Order{{{100, 1}, {10, 4, 3}, {3, 2}, {1, 1}}}})
    for (std::int64_t length : {0, 1, 5, 16, 59, 60, 61, 100, 223}) {
      CAPTURE(to_string(order));
      CAPTURE(length);
      std::vector<int> seen(static_cast<std::size_t>(length), 0);
      for (std::int64_t tile = 0; tile < order.tiles(length); ++tile) {
        std::vector<int> firsts(order.digits.size());
        std::int64_t rest = tile;
        for (std::size_t i = firsts.size(); i-- > 0;) {
          const std::int64_t along = order.tiles(i, length);
          firsts[i] = static_cast<int>(rest % along) * order.digits[i].tile - order.digits[i].origin;
          rest /= along;
        }
        for (int row = 0; row < order.tile(); ++row) {
          if (!order.exists(firsts, row, length)) continue;
          const std::int64_t token = order.token(firsts, row);
          REQUIRE((token >= 0 && token < length));
          ++seen[static_cast<std::size_t>(token)];
        }
      }
      CHECK(std::count(seen.begin(), seen.end(), 1) == length);
    }
}

TEST_CASE("where a comparison with the length tells which places are tokens") {
  CHECK(Order{{{4, 8}, {1, 1}}}.ends_like_the_axis());
  CHECK(Order{{{128, 8}, {1, 16}}}.ends_like_the_axis());
  CHECK_FALSE(Order{{{128, 8}, {1, 24}}}.ends_like_the_axis());
  CHECK_FALSE(Order{{{128, 8, 4}, {1, 16}}}.ends_like_the_axis());
  CHECK_FALSE(Order{{{129, 8}, {2, 3}, {1, 1}}}.ends_like_the_axis());
}

TEST_CASE("any two orders, by lists: residues, grids, windows with origins, ragged ends") {
  const std::vector<Order> orders = {
      Order::identity(16),
      {{{1, 16, 5}}},                       // a shifted identity
      {{{3, 16}, {1, 1}}},                  // residues, of every length
      {{{16, 1}, {1, 8}}},                  // blocks
      {{{16, 4}, {1, 8}}},                  // a grid that divides
      {{{14, 7, 4}, {1, 7, 4}}},            // shifted windows, 49 tokens in 64 rows
      {{{11, 2}, {1, 6}}},                  // a grid that does not divide
      {{{30, 2}, {6, 2, 1}, {1, 4}}},       // three digits
      {{{20, 3}, {3, 2}, {1, 3}}},          // a weight that does not divide the one before
      {{{64, 1}, {16, 2}, {4, 4}, {1, 1}}}  // four
  };
  const mask::Pointwise masks[] = {grid_window(11, 2, 3), dilated(3, 4),
                                   predicate("causal", [](Args& a) { return a.k <= a.q; }), mask::everything()};
  std::size_t turn = 0;
  for (const Order& queries : orders)
    for (const Order& keys : orders)
      for (const Lengths lengths : {Lengths{121, 121}, {60, 97}}) {
        const mask::Pointwise& m = masks[turn % std::size(masks)];
        if (test::left_out(turn, 3)) continue;
        CAPTURE(to_string(queries));
        CAPTURE(to_string(keys));
        CAPTURE(m.function.name);
        CAPTURE(lengths.keys);
        CHECK(is_right(m, request(lengths), plan_of(queries, {listed(queries, keys, lengths, pairs_of(m, lengths))})));
      }
}

TEST_CASE("box windows by spans, walked as one loop of partial and one of full tiles") {
  struct Window {
    Order queries, keys;
    std::vector<int> reach;
    mask::Pointwise mask;
    std::vector<std::int64_t> lengths;
  };
  const mask::Pointwise video = predicate("video", [](Args& a) {
    return (abs(a.q / 60 - a.k / 60) <= number(a.q, 1)) & (abs(a.q % 60 / 10 - a.k % 60 / 10) <= number(a.q, 2)) &
           (abs(a.q % 10 - a.k % 10) <= number(a.q, 9));
  });
  const std::vector<Window> windows = {
      {{{{16, 4}, {1, 4}}}, {{{16, 2}, {1, 8}}}, {5, 3}, grid_window(16, 5, 3), {256, 250, 3, 0}},
      {{{{16, 4}, {1, 4}}}, {{{16, 2}, {1, 2}}}, {5, 15}, grid_window(16, 5, 15), {256, 241}},
      {{{{16, 4, 1}, {1, 4, 3}}}, {{{16, 3}, {1, 5, 2}}}, {6, 6}, grid_window(16, 6, 6), {256, 77}},
      {{{{3, 16}, {1, 1}}}, {{{3, 8}, {1, 1}}}, {20, 0}, dilated(3, 20), {200, 100}},
      {{{{60, 2}, {10, 2}, {1, 4}}}, {{{60, 1}, {10, 2}, {1, 5}}}, {1, 2, 9}, video, {240, 210}}};
  for (const Window& w : windows)
    for (std::int64_t length : w.lengths) {
      CAPTURE(to_string(w.keys));
      CAPTURE(length);
      const mask::Plan plan = plan_of(w.queries, {box_window(w.queries, w.keys, w.reach)});
      CHECK(is_right(w.mask, request({length, length}), plan));
    }
}

TEST_CASE("several sources in orders of their own share one softmax") {
  const Lengths lengths{96, 128};
  const mask::Pointwise m =
      predicate("fixed", [](Args& a) { return (a.q / 16 == a.k / 16) | (a.k % 16 >= number(a.q, 12)); });
  const auto columns = [](std::int64_t, std::int64_t k) { return k % 16 >= 12; };
  const auto block = [](std::int64_t q, std::int64_t k) { return q / 16 == k / 16 && k % 16 < 12; };
  const Order queries = Order::identity(32), local = Order::identity(16), last{{{16, 4}, {1, 4}}};
  mask::Source first = listed(queries, local, lengths, block), second = listed(queries, last, lengths, columns);
  first.part = std::make_shared<const mask::Pointwise>(
      predicate("block", [](Args& a) { return (a.q / 16 == a.k / 16) & (a.k % 16 < number(a.q, 12)); }));
  second.part = std::make_shared<const mask::Pointwise>(
      predicate("columns", [](Args& a) { return a.k % 16 >= number(a.q, 12); }));
  CHECK(is_right(m, request(lengths), plan_of(queries, {first, second})));
  CHECK(is_right(m, request(lengths),
                 plan_of({{{4, 32}, {1, 1}}}, {listed({{{4, 32}, {1, 1}}}, last, lengths, pairs_of(m, lengths))})));
}

TEST_CASE("heads of several classes, key lengths with NaN behind them") {
  const Lengths lengths{90, 100};
  const mask::Pointwise m = predicate("by head", [](Args& a) {
    return (a.k <= a.q) & (a.q - a.k <= where(a.head == a.batch, number(a.q, 20), number(a.q, 300)));
  });
  const auto of = [](std::int64_t reach) {
    return [reach](std::int64_t q, std::int64_t k) { return k <= q && q - k <= reach; };
  };
  const Order queries{{{10, 4}, {1, 8}}}, keys{{{7, 16}, {1, 1}}};
  mask::PlanRequest r = request(lengths);
  r.heads = 3, r.batch = 2;
  mask::Source source = listed(queries, keys, lengths, {of(20), of(300)}, {0, 1, 1, 1, 0, 1});
  CHECK(is_right(m, r, plan_of(queries, {source})));
  r.key_lengths = {100, 33};
  mask::Plan bounded = plan_of(queries, {source});
  make_partial(bounded);
  CHECK(is_right(m, r, bounded));
}

TEST_CASE("the text of a kernel in token orders") {
  const Order queries{{{14, 7, 4}, {1, 7, 4}}}, keys{{{4, 16}, {1, 1}}};
  const Lengths lengths{98, 98};
  const mask::Pointwise m = dilated(4, 2);
  const mask::Plan plan = plan_of(queries, {listed(queries, keys, lengths, pairs_of(m, lengths))});
  const std::string text =
      ir::print(passes::simplify(passes::tile_by_mask(passes::simplify(forward(m)), &plan, whole(8, 8))));
  for (const char* line :
       {"grid(Query:64 @0, Head:1, Batch:1)", "order @0 Query:64 [14:7-4, 1:7-4]", "order @1 Key:16 [4:16, 1:1]",
        "%rows = tile_at Query @0(", "%tile.1 = tile_at Key @1(", "load k(%tile.1, 0) : f32[Key:16, Depth:16]",
        "position Key(%tile) : i32[Key:16]", "store o(%rows, 0)", "store lse(%rows)"})
    CHECK_MESSAGE(text.find(line) != std::string::npos, std::string(line));
}

TEST_CASE("a list without partial tiles leaves no trace of the mask") {
  const Order order{{{1, 16}}};
  const Lengths lengths{64, 64};
  const mask::Pointwise m = dilated(32, 1);
  const auto text_of = [&](double full) {
    mask::Source source = listed(order, order, lengths, pairs_of(m, lengths));
    auto& list = std::get<mask::TileList>(source.schedule);
    for (std::size_t r = 0; r < list.rows.size(); r += mask::TileList::kFields) {
      const std::int32_t all = list.rows[r + 1] + list.rows[r + 2];
      list.rows[r + 2] = static_cast<std::int32_t>(full * all);
      list.rows[r + 1] = all - list.rows[r + 2];
    }
    const mask::Plan plan = plan_of(order, {source});
    return ir::print(passes::simplify(passes::tile_by_mask(passes::simplify(forward(m)), &plan, whole(8, 8))));
  };
  const auto count = [](const std::string& text, const char* word) {
    int n = 0;
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++n;
    return n;
  };
  for (double full : {0.0, 0.5, 1.0}) {
    CAPTURE(full);
    const std::string text = text_of(full);
    CHECK(count(text, " = loop ") == (full == 1 ? 1 : 2));
    CHECK(count(text, ", -inf :") == (full == 1 ? 0 : 1));
    CHECK(count(text, "param tile_ids") == 1);
  }
}

// What masks ask of positions in their own order is asked of digits: no tile of quotients or remainders is computed.
TEST_CASE("positions are followed as sums of digits") {
  const auto text_of = [](const mask::Pointwise& m, const Order& order, Lengths lengths) {
    const mask::Plan plan = plan_of(order, {listed(order, order, lengths, pairs_of(m, lengths))});
    const std::string text =
        ir::print(passes::simplify(passes::tile_by_mask(passes::simplify(forward(m)), &plan, whole(8, 8))));
    return text.substr(text.find(" = loop "));
  };
  const auto quotients = [](const std::string& text) {
    int found = 0;
    for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
      end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, end - at);
      found += (line.find(" = div ") != std::string::npos || line.find(" = mod ") != std::string::npos) &&
               line.find(" : i32[") != std::string::npos;
    }
    return found;
  };
  const std::string grid = text_of(grid_window(16, 3, 4), {{{16, 4}, {1, 8}}}, {128, 128});
  CHECK(quotients(grid) == 0);
  CHECK(grid.find("position Key digits 0 to 0(") != std::string::npos);
  CHECK(grid.find("position Key digits 1 to 1(") != std::string::npos);

  // The classes agree or not for whole tiles: scalars.
  const std::string residues = text_of(dilated(4, 5), {{{4, 16}, {1, 1}}}, {128, 128});
  CHECK(quotients(residues) == 0);
  CHECK(std::regex_search(residues, std::regex(" = eq %[0-9]+, %[0-9]+ : i1\n")));

  const mask::Pointwise parity = predicate("parity", [](Args& a) {
    return ((a.q / 16 - a.k / 16) % 2 == 0) & (abs(a.q % 16 - a.k % 16) <= number(a.q, 3));
  });
  const std::string dilated_grid = text_of(parity, {{{32, 4}, {16, 1}, {1, 8}}}, {256, 256});
  CHECK(quotients(dilated_grid) == 0);
  CHECK(std::regex_search(dilated_grid, std::regex(" = eq %[0-9]+, %[0-9]+ : i1\n")));

  // Not in their order: as written.
  CHECK(quotients(text_of(grid_window(12, 3, 4), {{{16, 4}, {1, 8}}}, {128, 128})) > 0);
}

TEST_CASE("sums of digits give what positions give, for every kind of quotient") {
  const std::vector<Order> orders = {{{{3, 16}, {1, 1}}},         {{{16, 4}, {1, 8}}},
                                     {{{14, 7, 4}, {1, 7, 4}}},   {{{30, 2}, {6, 2, 1}, {1, 4}}},
                                     {{{20, 3}, {3, 2}, {1, 3}}}, {{{64, 1}, {16, 2}, {4, 4}, {1, 1}}}};
  const std::vector<mask::Pointwise> masks = {
      predicate("a", [](Args& a) { return (a.q - a.k) % 3 == 0; }),
      predicate("b", [](Args& a) { return (a.k - a.q - 5) % 16 < number(a.q, 7); }),
      predicate("c", [](Args& a) { return (a.q + 3) / 14 >= (a.k - 4) / 14; }),
      predicate("d", [](Args& a) { return (a.q % 30 / 6 == a.k % 30 / 6) | ((a.q / 30 + a.k) % 6 != 0); }),
      predicate("e", [](Args& a) { return (2 * a.q + a.k / 4) % 8 != 0; }),
      predicate("f", [](Args& a) { return 0 - (a.k % 64) / 4 + a.q % 20 / 3 <= number(a.q, 2); }),
      predicate("g", [](Args& a) { return min(a.q / 16, a.k / 14) % 2 == (a.q % 7 + 7) / 7; })};
  const Lengths lengths{121, 118};
  std::size_t turn = 0;
  for (const Order& queries : orders)
    for (const Order& keys : orders) {
      for (const mask::Pointwise& m : masks) {
        if (test::left_out(turn, 5)) continue;
        CAPTURE(to_string(queries));
        CAPTURE(to_string(keys));
        CAPTURE(m.function.name);
        CHECK(is_right(m, request(lengths), plan_of(queries, {listed(queries, keys, lengths, pairs_of(m, lengths))})));
      }
    }
}
