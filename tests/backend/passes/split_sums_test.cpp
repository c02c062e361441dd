// Which sums of a loop are left to its end, and that they come to the same.
#include <tessera/backend/passes/split_sums.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include <tessera/backend/compile.h>
#include <tessera/backend/passes/assign_layouts.h>
#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/rewrite.h>
#include <tessera/dsl/ir/verify.h>

#include "backend/placed_runs.h"
#include "backend/tiled_kernels.h"
#include "support/tensor.h"

using namespace tessera;
using namespace tessera::ir;

namespace {

const Axis query = Axis::named("Query"), key = Axis::named("Key"), depth = Axis::named("Depth");
const Dim rows{query, 64};

// One trip: from the scores and the two carried values, sum and other, to the next two.
using Step = std::function<std::vector<Value>(Builder&, Value scores, Value sum, Value other)>;

struct Options {
  int key_tile = 32;
  double start = 0;
  int loops = 1;      // one after the other, over the same keys
  bool wide = false;  // `other` is as wide as a tile of keys; its row maximum is stored
};

// a and b are the carried values after loops over all tiles of keys, of scores q k^T.
Kernel sums(const Step& step, Options o = {}) {
  Kernel k;
  k.name = "sums";
  k.stage = Stage::tiled;
  k.grid = {query};
  k.grid_tiles = {rows};
  k.whole = {{depth, 64}};
  k.params = {{"q", ParamKind::input, DType::bf16, {query, depth}, 2},
              {"k", ParamKind::input, DType::bf16, {key, depth}, 2},
              {"a", ParamKind::output, DType::f32, {query}, 1},
              {"b", ParamKind::output, DType::f32, {query}, 1}};
  const Dim keys{key, o.key_tile}, d{depth, 64};
  Builder b(k, k.entry);
  const Value zero = b.constant(0), row = b.mul(b.program_id(query), 64);
  const Value q = b.load(0, Type::tile(DType::bf16, {rows, d}), std::vector{row, zero});
  const Value tiles = b.div(b.length(key), o.key_tile);
  const Type statistic = Type::tile(DType::f32, {rows});
  std::vector<Value> state{b.constant(o.start, statistic),
                           b.constant(o.start, o.wide ? Type::tile(DType::f32, {rows, keys}) : statistic)};
  const std::vector<std::string> names{"sum", "other"};
  for (int i = 0; i < o.loops; ++i)
    state = b.loop(zero, tiles, state, names, [&](Builder& in, std::span<const Value> args) {
      const Value at = in.mul(args[0], o.key_tile);
      const Value kt = in.load(1, Type::tile(DType::bf16, {keys, d}), std::vector{at, zero});
      return step(in, in.dot(q, kt), args[1], args[2]);
    });
  b.store(2, state[0], std::vector{row});
  b.store(3, o.wide ? b.reduce(OpCode::reduce_max, state[1], key) : state[1], std::vector{row});
  return k;
}

struct Passed {
  Kernel before, after;
};

Passed passed(const Kernel& tiled) {
  const backend::LayoutRule rule(tiled);
  Passed p{backend::assign_layouts(tiled, rule), {}};
  p.after = backend::split_sums(p.before, rule);
  REQUIRE(verify(p.before) == "");
  REQUIRE(verify(p.after) == "");
  return p;
}

int count(const Kernel& kernel, OpCode code) {
  int n = 0;
  walk(kernel.entry, [&](const Op& op) { n += op.code == code; });
  return n;
}

int sums_in_loops(const Kernel& kernel) {
  int n = 0;
  for (const Op& op : kernel.entry.ops)
    if (op.code == OpCode::loop)
      for (const Op& inner : op.regions[0].ops) n += inner.code == OpCode::reduce_sum;
  return n;
}

// Outputs for queries and keys of small integers, whose sums are exact in any order.
std::vector<std::vector<double>> run(const Kernel& kernel, std::int64_t keys) {
  test::TestTensor q(DType::bf16, {100, 64}), k(DType::bf16, {keys, 64}), a(DType::f32, {100}), b(DType::f32, {100});
  int n = 1;
  for (test::TestTensor* t : {&q, &k}) {
    std::vector<std::int64_t> index(2, 0);
    if (t->elements() == 0) continue;
    do {
      n = (n * 37 + 11) % 101;
      t->set(index, n % 5 - 2);
    } while (test::next_index(index, t->shape()));
  }
  return test::outputs_of(kernel, {q.view(), k.view(), a.view(), b.view()});
}

Value row_sum(Builder& b, Value scores) { return b.reduce(OpCode::reduce_sum, scores, key); }
Value row_max(Builder& b, Value scores) { return b.reduce(OpCode::reduce_max, scores, key); }
Value half(Builder& b) { return b.constant(0.5, Type::scalar(DType::f32)); }
Value one_or_half(Builder& b, Value scores) {
  const Value limit = b.constant(20, Type::scalar(DType::f32));
  return b.select(b.binary(OpCode::gt, row_max(b, scores), limit), b.constant(1, b.type(row_max(b, scores))), half(b));
}

void check_split(const Step& step, Options options, int expected) {
  const Kernel tiled = sums(step, options);
  const Passed p = passed(tiled);
  CHECK(count(p.after, OpCode::partial_sum) == expected * options.loops);
  CHECK(sums_in_loops(p.after) == sums_in_loops(p.before) - expected * options.loops);
  const Kernel placed = backend::place(tiled, test::hopper(), {});
  for (std::int64_t keys : {0, 32, 160}) {
    CAPTURE(keys);
    const auto want = run(p.before, keys);
    CHECK(run(p.after, keys) == want);
    CHECK(run(placed, keys) == want);
  }
}

void check_left_alone(const Step& step, Options options = {}) {
  const Passed p = passed(sums(step, options));
  CHECK(print(p.after) == print(p.before));
}

}  // namespace

TEST_CASE("a running sum of row sums is split, on either side") {
  const Step left = [](Builder& b, Value s, Value sum, Value other) {
    return std::vector{b.add(sum, row_sum(b, s)), b.max(other, row_max(b, s))};
  };
  const Step right = [](Builder& b, Value s, Value sum, Value other) {
    return std::vector{b.add(row_sum(b, s), sum), b.max(other, row_max(b, s))};
  };
  for (const Step& step : {left, right}) {
    check_split(step, {}, 1);
    check_split(step, {.key_tile = 16}, 1);
    check_split(step, {.start = 3}, 1);
  }
}

TEST_CASE("also when it is scaled first, by rows or by a number") {
  check_split(
      [](Builder& b, Value s, Value sum, Value other) {
        return std::vector{b.add(b.mul(sum, one_or_half(b, s)), row_sum(b, s)), b.max(other, row_max(b, s))};
      },
      {.start = 5}, 1);
  check_split(
      [](Builder& b, Value s, Value sum, Value other) {
        return std::vector{b.add(row_sum(b, s), b.mul(sum, half(b))), b.max(other, row_max(b, s))};
      },
      {.start = 5}, 1);
}

TEST_CASE("two sums of a loop are split side by side") {
  check_split(
      [](Builder& b, Value s, Value sum, Value other) {
        return std::vector{b.add(sum, row_sum(b, s)),
                           b.add(b.mul(other, half(b)), row_sum(b, b.unary(OpCode::abs, s)))};
      },
      {.start = 1}, 2);
}

TEST_CASE("the sum that a loop before has split goes on as it is") {
  const Step step = [](Builder& b, Value s, Value sum, Value other) {
    return std::vector{b.add(sum, row_sum(b, s)), b.max(other, row_max(b, s))};
  };
  check_split(step, {.start = 3, .loops = 3}, 1);
  const Kernel after = passed(sums(step, {.loops = 3})).after;
  CHECK(count(after, OpCode::broadcast) == count(passed(sums(step)).after, OpCode::broadcast));
}

TEST_CASE("what a split leaves: eight columns of the accumulator, carried, and one sum at the end") {
  const Step step = [](Builder& b, Value s, Value sum, Value other) {
    return std::vector{b.add(sum, row_sum(b, s)), b.max(other, row_max(b, s))};
  };
  const Kernel after = passed(sums(step)).after;
  const auto loop = std::find_if(after.entry.ops.begin(), after.entry.ops.end(),
                                 [](const Op& op) { return op.code == OpCode::loop; });
  REQUIRE(loop != after.entry.ops.end());
  const Type& carried = after.type(loop->results[0]);
  CHECK(carried.extent(query) == 64);
  CHECK(carried.extent(key) == 8);
  REQUIRE(carried.layout);
  CHECK(*carried.layout == backend::accumulator_layout(rows, {key, 8}));
  CHECK(after.type(loop->results[1]).dims == std::vector<Dim>{rows});
  const Op& whole = *std::next(loop);
  CHECK(whole.code == OpCode::reduce_sum);
  CHECK(whole.axis == key);
  CHECK(whole.operands == std::vector<Value>{loop->results[0]});
  CHECK(after.name_of(whole.results[0]) == "sum");
}

TEST_CASE("sums that are read in their loop stay") {
  check_left_alone([](Builder& b, Value s, Value sum, Value) { return std::vector{b.add(sum, row_sum(b, s)), sum}; });
  check_left_alone([](Builder& b, Value s, Value sum, Value other) {
    return std::vector{b.add(sum, row_sum(b, s)), b.max(other, sum)};
  });
  check_left_alone([](Builder& b, Value s, Value sum, Value other) {
    const Value next = b.add(sum, row_sum(b, s));
    return std::vector{next, b.max(other, next)};
  });
  check_left_alone([](Builder& b, Value s, Value sum, Value) {
    const Value next = b.add(sum, row_sum(b, s));
    return std::vector{next, next};
  });
  check_left_alone([](Builder& b, Value s, Value sum, Value other) {
    const Value scaled = b.mul(sum, half(b));
    return std::vector{b.add(scaled, row_sum(b, s)), b.max(other, scaled)};
  });
  check_left_alone([](Builder& b, Value s, Value sum, Value other) {  // by what a branch does
    const Value taken = b.binary(OpCode::gt, b.reduce(OpCode::reduce_max, row_max(b, s), query), half(b));
    const std::vector<std::string> names{"other"};
    const std::vector<Value> init{other};
    const Value branch = b.when(taken, init, names, [&](Builder& then, std::span<const Value> carried) {
      return std::vector{then.max(carried[0], sum)};
    })[0];
    return std::vector{b.add(sum, row_sum(b, s)), branch};
  });
}

TEST_CASE("row sums that have another use stay") {
  check_left_alone([](Builder& b, Value s, Value sum, Value other) {
    const Value part = row_sum(b, s);
    return std::vector{b.add(sum, part), b.max(other, part)};
  });
  check_left_alone([](Builder& b, Value s, Value, Value other) {
    const Value part = row_sum(b, s);
    return std::vector{b.add(part, part), b.max(other, row_max(b, s))};
  });
}

TEST_CASE("what is no sum of row sums stays") {
  check_left_alone([](Builder& b, Value s, Value sum, Value other) {  // a maximum
    return std::vector{b.add(sum, row_max(b, s)), b.max(other, row_max(b, s))};
  });
  check_left_alone([](Builder& b, Value s, Value sum, Value other) {  // a difference
    return std::vector{b.sub(sum, row_sum(b, s)), b.max(other, row_max(b, s))};
  });
  check_left_alone([](Builder& b, Value s, Value sum, Value other) {  // a square
    return std::vector{b.add(b.mul(sum, sum), row_sum(b, s)), b.max(other, row_max(b, s))};
  });
  check_left_alone([](Builder& b, Value s, Value sum, Value other) {  // of another carried value
    return std::vector{b.add(other, row_sum(b, s)), b.max(sum, row_max(b, s))};
  });
  check_left_alone([](Builder& b, Value s, Value sum, Value other) {  // that is scaled after it was added to
    return std::vector{b.mul(b.add(sum, row_sum(b, s)), half(b)), b.max(other, row_max(b, s))};
  });
}

TEST_CASE("tiles of eight columns have nothing to leave to the end") {
  check_left_alone([](Builder& b, Value s, Value sum,
                      Value other) { return std::vector{b.add(sum, row_sum(b, s)), b.max(other, row_max(b, s))}; },
                   {.key_tile = 8});
}

TEST_CASE("kernels without products are left alone") {
  Kernel tiled = test::tiled_rows();
  tiled.entry = {};
  tiled.params[1].axes = {query};
  tiled.params[1].rank = 1;
  const Dim few{query, 16}, columns{depth, 64};
  Builder b(tiled, tiled.entry);
  const Value zero = b.constant(0), row = b.mul(b.program_id(query), 16);
  const std::vector<Value> init{b.constant(0, Type::tile(DType::f32, {few}))};
  const std::vector<std::string> names{"sum"};
  const auto sum = b.loop(zero, b.constant(3), init, names, [&](Builder& in, std::span<const Value> args) {
    const Value x = in.load(0, Type::tile(DType::f32, {few, columns}), std::vector{row, zero});
    return std::vector{in.add(args[1], in.reduce(OpCode::reduce_sum, x, depth))};
  });
  b.store(1, sum[0], std::vector{row});
  REQUIRE(verify(tiled) == "");
  const backend::LayoutRule rule(tiled);
  const Kernel before = backend::assign_layouts(tiled, rule);
  CHECK(print(backend::split_sums(before, rule)) == print(before));
}

TEST_CASE("attention's row sums are split in both loops, once") {
  const Kernel after = passed(test::tiled_attention()).after;
  CHECK(count(after, OpCode::partial_sum) == 2);
  CHECK(sums_in_loops(after) == 0);
}
