// Masks, scores and tables that cannot be: each refusal with the user's file and line.
#include <cmath>

#include <doctest/doctest.h>

#include <tessera/dsl/lang/lang.h>

#include "support/expect_error.h"

// The tests say how many lines below them the error is.
// clang-format off
using namespace tessera;
using test::expect_user_error;

TEST_CASE("division by the constant zero") {
  const int step = 0;
  expect_user_error(__FILE__, __LINE__ + 1, [] {
    Mask m = [](Position q, Position k) { return q / 0 == k; }; }, "division of an i32 value by the constant 0");
  expect_user_error(__FILE__, __LINE__ + 1, [step] {
    Mask m = [step](Position q, Position k) { return (q - k) % step == 0; }; },
    "division of an i32 value by the constant 0");
}

TEST_CASE("a number beyond 32 bits") {
  expect_user_error(__FILE__, __LINE__ + 1, [] {
    Mask m = [](Position q, Position k) { return q - k < 5000000000; }; }, "the number 5000000000 does not fit i32");
}

TEST_CASE("tables of the wrong size") {
  expect_user_error(__FILE__, __LINE__ + 1, [] {
    Table t(std::vector<int>{1, 2, 3}, 2, 2); }, "a table of 2 x 2 elements is given 3 values", "row after row");
  expect_user_error(__FILE__, __LINE__ + 1, [] {
    Table t(std::vector<float>{}); }, "a table of 0 elements", "at least one element");
}

TEST_CASE("grids of no tokens, and of too many") {
  expect_user_error(__FILE__, __LINE__, [] { Grid g(4, 0); }, "dimension 1 of the Grid is 0", "at least one token");
  expect_user_error(__FILE__, __LINE__, [] { Grid g(1 << 16, 1 << 16); }, 
                    "the Grid 65536 x 65536 has more than 2147483647 tokens");
}

TEST_CASE("names that a kernel's parameters cannot bear") {
  const std::string remedy = "use letters, digits and underscores, a letter or underscore first";
  for (const std::string name : {"", "a b;}", "2nd", "a-b", "caf\xc3\xa9", "a\n"}) {
    const std::string cause = " cannot be named '" + name + "'";
    expect_user_error(__FILE__, __LINE__, [&] { Param<i32> p(name, 2); }, "a Param" + cause, remedy);
    expect_user_error(__FILE__, __LINE__, [&] { Param<f32> p(name, 2); }, "a Param" + cause, remedy);
    expect_user_error(__FILE__, __LINE__, [&] { Table<i32> t(name); }, "a Table" + cause, remedy);
    expect_user_error(__FILE__, __LINE__, [&] { Table(std::vector<int>{1}).named(name); }, "a Table" + cause, remedy);
    expect_user_error(__FILE__, __LINE__, [&] { Mask().named(name); }, "a mask" + cause, remedy);
    expect_user_error(__FILE__, __LINE__ + 1, [&] {
      Score([](ScoreValue s, Position, Position) { return s; }).named(name); }, "a score" + cause, remedy);
  }
  CHECK(Param<i32>("_left2", 3).name() == "_left2");
}

TEST_CASE("a default that an f32 Param does not hold") {
  expect_user_error(__FILE__, __LINE__, [] { Param<f32> p("x", 1e39); }, "the default of Param 'x' is ", "finite");
  expect_user_error(__FILE__, __LINE__, [] { Param<f32> p("x", std::nan("")); }, "the default of Param 'x' is nan");
}

TEST_CASE("one name for two things") {
  const Param<i32> a{"width", 4}, b{"width", 5};
  expect_user_error(__FILE__, __LINE__ + 1, [=] {
    Mask m = [=](Position q, Position k) { return q - k < a && k - q < b; }; },
    "two Params are named 'width' and differ in type or default");
  const Table<i32> ids("ids");
  const Table<i32, 2> bits("ids");
  expect_user_error(__FILE__, __LINE__ + 1, [=] {
    Mask m = [=](Position q, Position k) { return ids[q] == bits(q, k); }; },
    "two tables are named 'ids' and have different types");
}

TEST_CASE("a mask that throws leaves no trace behind") {
  CHECK_THROWS_AS(Mask([](Position q, Position k) { return q / 0 == k; }), UserError);
  expect_user_error(__FILE__, __LINE__ + 1, [] {
    Position p = 3; (void)p; }, "a Tile can only be made while a kernel is being traced");
}
