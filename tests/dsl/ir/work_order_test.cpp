// In which order the programs of a launch are numbered, and the text of what came with it.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>

#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/verify.h>

#include "dsl/ir/kernel_text.h"

using namespace tessera;
using namespace tessera::ir;

namespace {

using Place = std::vector<std::int64_t>;

std::vector<Place> places(const WorkOrder& order, const std::vector<std::int64_t>& counts) {
  std::int64_t programs = 1;
  for (std::int64_t n : counts) programs *= n;
  std::vector<Place> all;
  for (std::int64_t i = 0; i < programs; ++i) all.push_back(program_at(order, i, counts));
  return all;
}

// Which of the heads of all batches: the number along the axes after the first.
std::int64_t others_at(const Place& at, const std::vector<std::int64_t>& counts) {
  std::int64_t number = 0;
  for (std::size_t i = at.size(); i-- > 1;) number = number * counts[i] + at[i];
  return number;
}

struct Case {
  std::vector<std::int64_t> counts;
  WorkOrder order;
};

std::vector<Case> random_cases(int number) {
  std::mt19937 random(1);
  const auto up_to = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n + 1)); };
  std::vector<Case> cases;
  for (int i = 0; i < number; ++i) {
    Case c;
    for (int axes = 1 + up_to(3); axes > 0; --axes) c.counts.push_back(1 + up_to(6));
    c.order = {.section = up_to(9), .descending = up_to(1) == 1};
    cases.push_back(c);
  }
  return cases;
}

std::string printed(const Case& c) {
  std::string text = "section " + std::to_string(c.order.section) + (c.order.descending ? " descending" : "") + ", of";
  for (std::int64_t n : c.counts) text += " " + std::to_string(n);
  return text;
}

void round_trip(const std::string& text) {
  const Kernel kernel = parse(text);
  CHECK(print(kernel) == text);
  CHECK(verify(kernel) == "");
  CHECK(legal(kernel, kernel.stage) == "");
}

}  // namespace

TEST_CASE("every order numbers every program once") {
  for (const Case& c : random_cases(3000)) {
    std::set<Place> seen;
    bool inside = true;
    const std::vector<Place> all = places(c.order, c.counts);
    for (const Place& at : all) {
      inside = inside && at.size() == c.counts.size();
      for (std::size_t i = 0; inside && i < at.size(); ++i) inside = at[i] >= 0 && at[i] < c.counts[i];
      seen.insert(at);
    }
    INFO(printed(c));
    REQUIRE(inside);
    REQUIRE(seen.size() == all.size());
  }
}

TEST_CASE("a section is finished before the next, its heads take turns, and the first axis goes one way") {
  for (const Case& c : random_cases(3000)) {
    if (c.order.section == 0) continue;
    const std::vector<Place> all = places(c.order, c.counts);
    const auto before = [&](const Place& a, const Place& b) {
      const std::int64_t x = others_at(a, c.counts), y = others_at(b, c.counts);
      const std::int64_t p = c.order.descending ? -a[0] : a[0], q = c.order.descending ? -b[0] : b[0];
      return std::tuple(x / c.order.section, p, x) < std::tuple(y / c.order.section, q, y);
    };
    INFO(printed(c));
    REQUIRE(std::is_sorted(all.begin(), all.end(), before));
  }
}

TEST_CASE("without sections the first grid axis varies fastest, forwards or backwards") {
  CHECK(places({}, {2, 3}) == std::vector<Place>{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}});
  CHECK(places({.descending = true}, {2, 3}) == std::vector<Place>{{1, 0}, {0, 0}, {1, 1}, {0, 1}, {1, 2}, {0, 2}});
}

TEST_CASE("sections of two heads of three: the last section is of one") {
  CHECK(places({.section = 2, .descending = true}, {2, 3}) ==
        std::vector<Place>{{1, 0}, {1, 1}, {0, 0}, {0, 1}, {1, 2}, {0, 2}});
}

TEST_CASE("a section crosses from one batch entry to the next") {
  CHECK(places({.section = 4}, {1, 3, 2}) ==
        std::vector<Place>{{0, 0, 0}, {0, 1, 0}, {0, 2, 0}, {0, 0, 1}, {0, 1, 1}, {0, 2, 1}});
}

TEST_CASE("a grid without axes has one program, of no indices") {
  CHECK(program_at({}, 0, {}).empty());
  CHECK(program_at({.section = 8, .descending = true}, 0, {}).empty());
}

TEST_CASE("orders read back, in every stage") {
  for (const char* order : {"", " sections 8", " descending", " sections 3 descending"}) {
    const std::string tail = std::string(order) + " {\n  %0 = program_id Query : i32\n}\n";
    round_trip("kernel f traced grid(Query, Head)" + tail);
    round_trip("kernel f tiled grid(Query:64, Head:1)" + tail);
    round_trip("kernel f placed grid(Query:64, Head:1)" + std::string(order) + " threads 128" +
               tail.substr(tail.find(" {")));
  }
  const Kernel kernel = parse("kernel f tiled grid(Query:64) sections 3 descending {\n}\n");
  CHECK(kernel.order == WorkOrder{.section = 3, .descending = true});
}

TEST_CASE("programs, turns, partial sums and scales read back") {
  round_trip(R"(kernel f placed grid(Query:64, Head:1) sections 8 descending threads 256 {
  param k: in bf16[Key, Depth]
  param o: out f32[Query]
  role @0 producer x1 registers 24
  role @1 consumer x1
  layout #0 {reg 2*Key:1 2*Query:8 16*Key:8 | lane 4*Key:2 8*Query:1 | warp 4*Query:16}
  layout #1 {reg 2*Query:8 | lane 4 8*Query:1 | warp 4*Query:16}
  layout #2 {reg 2*Key:1 2*Query:8 | lane 4*Key:2 8*Query:1 | warp 4*Query:16}
  %ks = alloc : shared<bf16[Key:128, Depth:64] x2>
  %full = alloc : barrier<1 x2>
  role @0 {
    %use.1, %other.1 = programs (%use = 0, %other = 1) {
      ^(%turn)
      %0 = slot %ks, %use : view<bf16[Key:128, Depth:64]>
      expect 16384 %full, %use
      copy k(%0 ; %full, %use ; %turn, 0)
      %1 = add %use, %other : i32
      yield %1, %other
    }
  }
  role @1 {
    programs {
      ^(%turn.1)
      turn_wait
      %2 = constant 1 : f32[Query:64, Key:128] #0
      turn_pass
      %3 = constant 2 : f32[Query:64] #1
      %4 = scale %2, %3 : f32[Query:64, Key:128] #0
      %5 = partial_sum Key %4 : f32[Query:64, Key:8] #2
      %6 = reduce_sum Key %5 : f32[Query:64] #1
      store o(0), %6
      yield
    }
  }
}
)");
}

TEST_CASE("they are ops of placed kernels only") {
  const auto refusal = [](const std::string& code) {
    const Kernel kernel = parse(test::tiled(code));
    const std::string wrong = verify(kernel);
    return wrong.empty() ? legal(kernel, Stage::tiled) : wrong;
  };
  const std::string tiles = "%0 = constant 1 : f32[Query:64, Key:64]\n";
  CHECK(refusal(tiles).empty());
  for (const auto& [op, code] : std::initializer_list<std::pair<const char*, const char*>>{
           {"programs", "programs {\n  ^(%t)\n  yield\n}\n"},
           {"turn_wait", "turn_wait\n"},
           {"turn_pass", "turn_pass\n"},
           {"scale", "%1 = scale %0, %0 : f32[Query:64, Key:64]\n"},
           {"partial_sum", "%1 = partial_sum Key %0 : f32[Query:64, Key:8]\n"}})
    CHECK(refusal(tiles + code) == "op '" + std::string(op) + "' at <text>:9: is not an op of stage tiled");
}

TEST_CASE("partial sums whose parts do not add up are refused") {
  const auto refusal = [](const char* dtype, const char* result) {
    return verify(parse(test::tiled("%0 = constant 1 : " + std::string(dtype) + "[Query:64, Key:64]\n" +
                                    "%1 = partial_sum Key %0 : " + result + "\n")));
  };
  CHECK(refusal("f32", "f32[Query:64, Key:8]").empty());
  CHECK(refusal("f32", "f32[Key:16, Query:64]").empty());
  for (const char* result : {"f32[Query:64, Key:24]", "f32[Query:32, Key:8]", "f32[Query:64]", "bf16[Query:64, Key:8]"})
    CHECK(refusal("f32", result) ==
          "op 'partial_sum' at <text>:9: f32[Query:64, Key:64] does not become " + std::string(result));
  CHECK(refusal("i32", "i32[Query:64, Key:8]") ==
        "op 'partial_sum' at <text>:9: i32[Query:64, Key:64] does not become i32[Query:64, Key:8]");
}

TEST_CASE("programs that carry a value must yield it") {
  const std::string text =
      "kernel f placed grid(Query:64) threads 128 {\n  %0 = programs (%use = 0) {\n    ^(%turn)\n    yield\n  }\n}\n";
  CHECK(verify(parse(text)) != "");
  std::string right = text;
  CHECK(verify(parse(right.replace(right.find("yield"), 5, "yield %turn"))) == "");
}
