// Blocks that take programs compute each of them once, as blocks that run one do.
#include <tessera/backend/passes/take_programs.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include <tessera/backend/compile.h>
#include <tessera/dsl/ir/interpret.h>
#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/rewrite.h>
#include <tessera/dsl/ir/verify.h>

#include "backend/placed_runs.h"
#include "backend/tiled_kernels.h"
#include "support/refusal.h"
#include "support/tensor.h"

using namespace tessera;
using namespace tessera::ir;

namespace {

Kernel placed(const Kernel& tiled, bool persistent, int stages = 2) {
  return backend::place(tiled, test::hopper(), {.stages = stages, .persistent = persistent});
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

struct Size {
  std::int64_t rows, heads;
};

// Attention of `queries` rows of `heads` heads to `keys` keys.
struct Call {
  Call(std::int64_t queries, std::int64_t heads, std::int64_t keys = 130)
      : q(DType::bf16, {1, heads, queries, 64}),
        k(DType::bf16, {1, 1, keys, 64}),
        v(DType::bf16, {1, 1, keys, 64}),
        o(DType::bf16, {1, heads, queries, 64}),
        lse(DType::f32, {1, heads, queries}) {
    for (test::TestTensor* t : {&q, &k, &v}) t->fill_normal(5);
    o.poison();
    lse.poison();
  }
  void run(const Kernel& kernel, int threads) {
    interpret(kernel, bind(kernel, {q.view(), k.view(), v.view(), o.view(), lse.view()}), {.threads = threads});
  }
  bool same(const Call& other) const {
    const auto bits = [](const test::TestTensor& a, const test::TestTensor& b) {
      return std::equal(a.memory().begin(), a.memory().end(), b.memory().begin(), b.memory().end());
    };
    return bits(o, other.o) && bits(lse, other.lse);
  }
  test::TestTensor q, k, v, o, lse;
};

// y = x + 1, a row of 16 numbers a program; `order` as it is printed.
Kernel counting(const std::string& order) {
  const Kernel kernel = parse("kernel count placed grid(Query:16, Head:1, Batch:1)" + order + R"( threads 128 {
  param x: in f32[Query]
  param y: out f32[Query]
  layout #0 {reg 1 | lane 16*Query:1 2 | warp 4}
  programs {
    ^(%turn)
    %0 = program_id Query : i32
    %row = mul %0, 16 : i32
    %1 = load x(%row) : f32[Query:16] #0
    %2 = add %1, 1 : f32[Query:16] #0
    store y(%row), %2
    yield
  }
}
)");
  REQUIRE(verify(kernel) == "");
  REQUIRE(legal(kernel, Stage::placed) == "");
  return kernel;
}

// In two roles, y and z get the turn in which their program was taken.
Kernel turns_of_two_roles() {
  const auto role = [](const std::string& output, const std::string& suffix) {
    return "    programs {\n      ^(%turn" + suffix + ")\n      %p" + suffix + " = program_id Query : i32\n      %row" +
           suffix + " = mul %p" + suffix + ", 16 : i32\n      %t" + suffix + " = cast %turn" + suffix +
           " : f32\n      %tile" + suffix + " = broadcast %t" + suffix + " : f32[Query:16] #0\n      store " + output +
           "(%row" + suffix + "), %tile" + suffix + "\n      yield\n    }\n";
  };
  const Kernel kernel = parse(
      "kernel turns placed grid(Query:16, Head:1) threads 384 {\n  param y: out f32[Query]\n  param z: out f32[Query]\n"
      "  role @0 one x1\n  role @1 other x2\n  layout #0 {reg 1 | lane 16*Query:1 2 | warp 4}\n  role @0 {\n" +
      role("y", "") + "  }\n  role @1 {\n" + role("z", "2") + "  }\n}\n");
  REQUIRE(verify(kernel) == "");
  REQUIRE(legal(kernel, Stage::placed) == "");
  return kernel;
}

// Changes the `programs` of role `role`.
Kernel changed(Kernel kernel, int role, const std::function<void(Kernel&, Block&, Op&)>& change) {
  int changes = 0;
  for (Op& op : kernel.entry.ops) {
    if (op.code != OpCode::role || op.index != role) continue;
    Block& block = op.regions[0];
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
      if (block.ops[i].code != OpCode::programs) continue;
      Op programs = block.ops[i];
      Block before{{}, {block.ops.begin(), block.ops.begin() + static_cast<std::ptrdiff_t>(i)}};
      change(kernel, before, programs);
      before.ops.push_back(programs);
      before.ops.insert(before.ops.end(), block.ops.begin() + static_cast<std::ptrdiff_t>(i) + 1, block.ops.end());
      block.ops = before.ops;
      ++changes;
      break;
    }
  }
  REQUIRE(changes == 1);
  REQUIRE(verify(kernel) == "");
  return kernel;
}

}  // namespace

TEST_CASE("the whole kernel becomes what is done for each program") {
  const Kernel tiled = test::tiled_matmul(), taking = backend::take_programs(tiled);
  CHECK(verify(taking) == "");
  REQUIRE(taking.entry.ops.size() == 1);
  const Op& programs = taking.entry.ops[0];
  CHECK(programs.code == OpCode::programs);
  CHECK(programs.operands.empty());
  CHECK(programs.results.empty());
  REQUIRE(programs.regions[0].ops.size() == tiled.entry.ops.size() + 1);
  CHECK(programs.regions[0].ops.back().code == OpCode::yield);
  for (std::size_t i = 0; i < tiled.entry.ops.size(); ++i)
    CHECK(programs.regions[0].ops[i].code == tiled.entry.ops[i].code);
  CHECK(taking.order == tiled.order);
  CHECK(taking.grid_tiles == tiled.grid_tiles);
}

TEST_CASE("every role takes programs, once, and does nothing else but prepare") {
  for (const Kernel& tiled : {test::tiled_matmul(), test::tiled_attention(), test::tiled_pairs()}) {
    const Kernel kernel = placed(tiled, true);
    REQUIRE(find_programs(kernel));
    CHECK(legal(kernel, Stage::placed) == "");
    for (const Op& op : kernel.entry.ops) {
      if (op.code != OpCode::role) continue;
      int programs = 0;
      for (const Op& inner : op.regions[0].ops) {
        programs += inner.code == OpCode::programs;
        const bool view = inner.code == OpCode::slot || inner.code == OpCode::rows;
        CHECK((inner.code == OpCode::programs || inner.code == OpCode::send_wait || view || !has_effect(inner)));
      }
      CHECK(programs == 1);
    }
    CHECK(!find_programs(placed(tiled, false)));
  }
}

TEST_CASE("kernels without products keep one program a block") {
  CHECK(print(placed(test::tiled_rows(), true)) == print(placed(test::tiled_rows(), false)));
  CHECK(!find_programs(placed(test::tiled_rows(), true)));
}

TEST_CASE("any number of programs is computed to the bit, by any number of blocks") {
  for (int stages : {1, 2, 3}) {
    const Kernel one = placed(test::tiled_attention(), false, stages),
                 many = placed(test::tiled_attention(), true, stages);
    for (const Size& size : {Size{100, 1}, {200, 1}, {128, 7}, {400, 3}}) {
      Call want(size.rows, size.heads);
      want.run(one, 1);
      for (int threads : {1, 2, 3, 8}) {
        CAPTURE(stages);
        CAPTURE(size.rows);
        CAPTURE(size.heads);
        CAPTURE(threads);
        Call got(size.rows, size.heads);
        got.run(many, threads);
        CHECK(got.same(want));
      }
    }
  }
}

TEST_CASE("the order of programs changes no result") {
  Call want(400, 3);
  want.run(placed(test::tiled_attention(), false), 1);
  for (const WorkOrder& order : {WorkOrder{.section = 2}, {.section = 8, .descending = true}, {.descending = true}}) {
    Kernel kernel = placed(test::tiled_attention(), true);
    kernel.order = order;
    for (int threads : {1, 4}) {
      Call got(400, 3);
      got.run(kernel, threads);
      CHECK(got.same(want));
    }
  }
}

TEST_CASE("every program is taken exactly once") {
  for (const char* order : {"", " descending", " sections 2", " sections 8 descending"}) {
    const Kernel kernel = counting(order);
    for (const Size& size : {Size{16, 1}, {5, 2}, {112, 1}, {100, 5}, {0, 3}}) {
      for (int threads : {1, 2, 7}) {
        CAPTURE(order);
        CAPTURE(size.rows);
        CAPTURE(size.heads);
        CAPTURE(threads);
        std::vector<float> numbers(static_cast<std::size_t>(size.rows * size.heads), 0);
        const View view = View::contiguous(numbers.data(), DType::f32, {1, size.heads, size.rows});
        for (int run = 0; run < 3; ++run) interpret(kernel, bind(kernel, {view, view}), {.threads = threads});
        CHECK(numbers == std::vector<float>(numbers.size(), 3));
      }
    }
  }
}

TEST_CASE("all roles of a block take the same programs in the same order") {
  const Kernel kernel = turns_of_two_roles();
  for (int threads : {1, 2, 5}) {
    std::vector<float> y(2 * 160, -1), z(2 * 160, -1);
    interpret(kernel,
              bind(kernel, {View::contiguous(y.data(), DType::f32, {2, 160}),
                            View::contiguous(z.data(), DType::f32, {2, 160})}),
              {.threads = threads});
    CHECK(y == z);
    CHECK(*std::min_element(y.begin(), y.end()) == 0);
    CHECK(*std::max_element(y.begin(), y.end()) >= (20 - 1) / std::max(threads, 2));  // somebody took several
  }
}

TEST_CASE("a role that takes one program while the others go on is noticed") {
  const auto once = [](Kernel& kernel, Block& before, Op& programs) {
    Builder b(kernel, before);
    const Value zero = b.constant(0), one = b.constant(1);
    programs.code = OpCode::loop;
    programs.operands.insert(programs.operands.begin(), {zero, one});
  };
  const Kernel kernel = placed(test::tiled_attention(), true);
  for (int role : {0, 1}) {
    const Kernel mutant = changed(kernel, role, once);
    const std::string text = test::complaint([&] { Call(400, 7).run(mutant, 1); });
    CAPTURE(text);
    CHECK(has(text, role == 0 ? "consumer 0 waits for phase" : "producer 0 waits for phase"));
    CHECK(has(text, "deadlock"));
  }
}

TEST_CASE("a role that forgets its tickets from program to program is noticed") {
  const auto forget = [](Kernel&, Block&, Op& programs) {
    Block& region = programs.regions[0];
    std::vector<Value>& yielded = region.ops.back().operands;
    REQUIRE(!yielded.empty());
    for (std::size_t i = 0; i < yielded.size(); ++i) yielded[i] = region.args[i + 1];
  };
  const Kernel kernel = placed(test::tiled_attention(), true);
  for (int role : {0, 1}) CHECK(test::complaint([&] { Call(400, 7).run(changed(kernel, role, forget), 1); }) != "none");
}

TEST_CASE("a wait for the slots of the program before is needed") {
  Kernel kernel = placed(test::tiled_attention(), true);
  const std::function<void(Block&)> strip = [&](Block& block) {
    std::erase_if(block.ops, [&](const Op& op) {
      return op.code == OpCode::wait && op.index == 1 && kernel.name_of(op.operands[0]) == "q_empty";
    });
    for (Op& op : block.ops)
      for (Block& region : op.regions) strip(region);
  };
  // One tile of keys a program: nothing else that the producer waits for says that the queries were read.
  CHECK(test::complaint([&] { Call(400, 7, 60).run(kernel, 1); }) == "none");
  strip(kernel.entry);
  CHECK(has(test::complaint([&] { Call(400, 7, 60).run(kernel, 1); }), "fills slot 0 of %q_ring for ticket 2"));
}
