// Token orders in the IR: their text, what is refused of them, and what position and exists give.
#include <doctest/doctest.h>

#include <regex>

#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/rewrite.h>
#include <tessera/dsl/ir/verify.h>

using namespace tessera;
using namespace tessera::ir;

namespace {

std::string kernel_text(const std::string& orders, const std::string& code,
                        const std::string& grid = "Query:64 @0, Head:1") {
  return "kernel f tiled grid(" + grid +
         ") {\n  param q: in bf16[Query, Depth]\n  param k: in bf16[Key, Depth]\n  param o: out bf16[Query, Depth]\n" +
         orders + code + "}\n";
}

const char* const kOrders = "  order @0 Query:64 [14:7-4, 1:7-4]\n  order @1 Key:32 [48:2, 8:4, 1:4]\n";

std::string complaint(const Kernel& kernel) {
  std::string reason = verify(kernel);
  if (reason.empty()) reason = legal(kernel, kernel.stage);
  return std::regex_replace(reason, std::regex(" at <text>:[0-9]+"), "");
}

std::string complaint(const std::string& orders, const std::string& code,
                      const std::string& grid = "Query:64 @0, Head:1") {
  return complaint(parse(kernel_text(orders, code, grid)));
}

}  // namespace

TEST_CASE("kernels in token orders read back, and keep their orders when they are rebuilt") {
  const std::string text = kernel_text(kOrders,
                                       "  %0 = program_id Query : i32\n"
                                       "  %1 = div %0, 3 : i32\n"
                                       "  %2 = tile_at Query @0(%0, %1, 0) : tile Query\n"
                                       "  %3 = position Query(%2) : i32[Query:64]\n"
                                       "  %4 = position Query digits 1 to 1(%2) : i32[Query:64]\n"
                                       "  %5 = exists Query(%2) : i1[Query:64]\n"
                                       "  %6 = load q(%2, 0) : bf16[Query:64, Depth:16]\n"
                                       "  %tile = tile_at Key @1(0, %1, 4, 0) : tile Key\n"
                                       "  %7 = exists Key(%tile, %0) : i1[Key:32]\n"
                                       "  %8 = load k(%tile, 0 ; bound Key %0) : bf16[Key:32, Depth:16]\n"
                                       "  %9 = position Key digits 1 to 2(%tile) : i32[Key:32]\n"
                                       "  store o(%2, 0), %6\n");
  const Kernel kernel = parse(text);
  CHECK(print(kernel) == text);
  CHECK(complaint(kernel) == "");
  CHECK(kernel.orders[0].order == Order{{{14, 7, 4}, {1, 7, 4}}});
  CHECK(kernel.grid_orders == std::vector{0, -1});
  CHECK(kernel.grid_count(0, 196) == 9);
  CHECK(kernel.grid_count(1, 3) == 3);
  Kernel copy = like(kernel);
  Rewriter(kernel, copy, {}).run();
  CHECK(print(copy) == text);
}

TEST_CASE("what is no order, and orders that do not fit their kernel") {
  CHECK(complaint("  order @0 Query:64 [4:8, 4:8]\n", "") == "[4:8, 4:8] is no order: its weights do not fall");
  CHECK(complaint("  order @0 Query:32 [4:8, 1:8]\n", "") == "tiles of order [4:8, 1:8] have 32 rows");
  CHECK(complaint("  order @0 Query:128 [4:8, 1:8]\n", "") ==
        "grid axis Query has tiles of 64, its order has Query:128");
  CHECK(complaint("  order @0 Key:64 [4:8, 1:8]\n", "") == "grid axis Query has tiles of 64, its order has Key:64");
  CHECK(complaint("", "", "Query:64 @2, Head:1") == "grid axis Query refers to order 2 of 0");
  Kernel traced = parse("kernel f traced grid(Query) {\n  param q: in bf16[Query]\n}\n");
  traced.orders.push_back({Axis::named("Query"), Order::identity(64), 64});
  CHECK(complaint(traced) == "a traced kernel has token orders");
}

TEST_CASE("tiles and places of orders that are not there") {
  const auto refused = [](const std::string& code) { return complaint(kOrders, code); };
  CHECK(refused("  %0 = tile_at Query @2(0, 0, 0) : tile Query\n") == "op 'tile_at': refers to order 2 of 2");
  CHECK(refused("  %0 = tile_at Key @0(0, 0, 0) : tile Key\n") == "op 'tile_at': is of Key, but order 0 is of Query");
  CHECK(refused("  %0 = tile_at Query @0(0, 0) : tile Query\n") ==
        "op 'tile_at': has 2 operands, must have 3: order [14:7-4, 1:7-4] has 2 digits");
  CHECK(refused("  %0 = tile_at Query @0(0, 0, 0) : tile Key\n") ==
        "op 'tile_at': gives tile Key, must give a tile of Query");
  CHECK(refused("  %0 = tile_at Query @0(0, 0, 0) : tile Query\n  %1 = position Key(%0) : i32[Key:32]\n") ==
        "op 'position': takes a tile of Key, not tile Query");
  CHECK(refused("  %0 = position Key : i32[Key:32]\n") ==
        "op 'position': takes a tile's handle once tiles have starts");
  CHECK(refused("  %0 = tile_at Query @0(0, 0, 0) : tile Query\n"
                "  %1 = position Query digits 1 to 0(%0) : i32[Query:64]\n") == "op 'position': takes digits 1 to 0");
  CHECK(refused("  %0 = tile_at Query @0(0, 0, 0) : tile Query\n  %1 = exists Query(%0) : i32[Query:64]\n") ==
        "op 'exists': gives i32[Query:64], must give i1[Query]");
  CHECK(refused("  %0 = tile_at Query @0(0, 0, 0) : tile Query\n  %1 = load k(%0, 0) : bf16[Key:32, Depth:16]\n") ==
        "op 'load': a coordinate is tile Query, must be a tile of Key");
}

TEST_CASE("digits of tokens as numbers") {
  const Order order{{{48, 2}, {8, 3}, {1, 4}}};
  CHECK(order.is_number(0, 2));
  CHECK(order.is_number(0, 1));
  CHECK_FALSE(Order{{{20, 1}, {3, 1}, {1, 1}}}.is_number(0, 1));
  const std::vector<int> firsts{2, 3, 4};
  for (int row = 0; row < order.tile(); ++row) {
    const std::int64_t token = order.token(firsts, row);
    CHECK(order.value(0, 0, firsts, row) == token / 48);
    CHECK(order.value(0, 1, firsts, row) == token / 8);
    CHECK(order.value(1, 2, firsts, row) == token % 48);
    CHECK(order.value(1, 1, firsts, row) == token % 48 / 8);
  }
}

TEST_CASE("orders with fewest digits") {
  CHECK(simplified({{{64, 1}, {1, 64}}}) == Order::identity(64));
  CHECK(simplified({{{64, 2}, {1, 64}}}) == Order::identity(128));
  CHECK(simplified({{{64, 2, 1}, {1, 64}}}) == Order{{{1, 128, 64}}});
  CHECK(simplified({{{4096, 1}, {64, 64}, {1, 16}}}) == Order{{{64, 64}, {1, 16}}});
  CHECK(simplified({{{4096, 1}, {64, 64}, {1, 64}}}) == Order::identity(4096));
  for (const Order& order : {Order{{{64, 1}, {1, 32}}}, Order{{{64, 1}, {1, 64, 1}}}, Order{{{20, 1}, {3, 6}, {1, 3}}}})
    CHECK(simplified(order).digits.size() == (order.digits.size() == 3 ? 2 : order.digits.size()));
}
