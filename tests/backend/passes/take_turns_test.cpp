// Turns go around the products of an iteration, and the interpreter takes them at their word.
#include <tessera/backend/passes/take_turns.h>

#include <doctest/doctest.h>

#include <algorithm>

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

Kernel placed(const Kernel& tiled, bool turns, bool overlap = true) {
  return backend::place(tiled, test::hopper(), {.overlap = overlap, .turns = turns});
}

// Either loop may have several trips.
test::AttentionShape several(int query_tile) { return {.query_tile = query_tile, .partial_tiles = 3}; }

int count(const Kernel& kernel, OpCode code) {
  int n = 0;
  walk(kernel.entry, [&](const Op& op) { n += op.code == code; });
  return n;
}

// The ops of each loop that takes turns, from the first barrier or fence to the first wait for products.
void shapes(const Block& block, std::vector<std::string>& found) {
  std::string text;
  for (const Op& op : block.ops) {
    for (const Block& region : op.regions) shapes(region, found);
    constexpr OpCode shown[] = {OpCode::wait,       OpCode::turn_wait, OpCode::turn_pass, OpCode::mma_fence,
                                OpCode::mma_commit, OpCode::mma,       OpCode::mma_wait};
    if (std::find(std::begin(shown), std::end(shown), op.code) != std::end(shown))
      text += (text.empty() ? "" : " ") + std::string(info(op.code).name);
  }
  if (text.find("turn_") != std::string::npos) found.push_back(text);
}

std::vector<std::string> shapes(const Kernel& kernel) {
  std::vector<std::string> found;
  shapes(kernel.entry, found);
  return found;
}

// All ops but turns, in order.
std::string without_turns(const Kernel& kernel) {
  std::string text = print(kernel);
  for (const char* turn : {"turn_wait\n", "turn_pass\n"})
    for (std::size_t at; (at = text.find(turn)) != std::string::npos;) {
      const std::size_t begin = text.rfind('\n', at) + 1;
      text.erase(begin, text.find('\n', at) + 1 - begin);
    }
  return text;
}

// Small integers: sums of their products are exact in any order.
void fill(test::TestTensor& t, int seed) {
  std::vector<std::int64_t> index(t.shape().size(), 0);
  int n = seed;
  do {
    n = (n * 37 + 11) % 101;
    t.set(index, n % 7 - 3);
  } while (test::next_index(index, t.shape()));
}

}  // namespace

TEST_CASE("a turn is the products of an iteration, up to the first wait for one") {
  const Kernel kernel = placed(test::tiled_attention(), true);
  CHECK(verify(kernel) == "");
  CHECK(legal(kernel, Stage::placed) == "");
  const std::string iteration =
      "wait turn_wait mma_fence mma mma_commit wait mma_fence mma mma_commit turn_pass mma_wait mma_wait";
  CHECK(shapes(kernel) == std::vector(2, iteration));  // over partial tiles and over full ones
  CHECK(shapes(placed(test::tiled_matmul(), true)) ==
        std::vector<std::string>{"wait wait turn_wait mma_fence mma mma_commit turn_pass mma_wait"});
}

TEST_CASE("turns are all that is added") {
  const std::vector<std::pair<Kernel, int>> loops = {
      {test::tiled_attention(), 2}, {test::tiled_attention({192, 64, 64, 64}), 4}, {test::tiled_matmul(), 1}};
  for (const auto& [tiled, turns] : loops) {
    const Kernel with = placed(tiled, true);
    CHECK(count(with, OpCode::turn_wait) == turns);
    CHECK(count(with, OpCode::turn_pass) == turns);
    CHECK(without_turns(with) == print(placed(tiled, false)));
  }
}

TEST_CASE("what has no turns to take is left alone") {
  // Loops with products after the first wait for one.
  CHECK(print(placed(test::tiled_attention(), true, false)) == print(placed(test::tiled_attention(), false, false)));
  // Roles of one warpgroup.
  CHECK(print(placed(test::tiled_attention({64, 64, 64, 64}), true)) ==
        print(placed(test::tiled_attention({64, 64, 64, 64}), false)));
  CHECK(print(placed(test::tiled_pairs(), true)) == print(placed(test::tiled_pairs(), false)));
  // Kernels without products, whatever the schedule says.
  CHECK(count(placed(test::tiled_rows(), true), OpCode::turn_wait) == 0);
}

TEST_CASE("the copying role, and products outside of loops, take no turns") {
  const Kernel kernel = placed(test::tiled_attention(), true);
  for (const Op& op : kernel.entry.ops) {
    if (op.code != OpCode::role || op.index != 0) continue;
    walk(op.regions[0], [](const Op& inner) { CHECK(inner.code != OpCode::turn_wait); });
  }
  // Of seven products the loops have two each; what fills their pipeline and drains it is in no loop.
  int looped = 0;
  walk(kernel.entry, [&](const Op& op) {
    if (op.code != OpCode::loop) return;
    const std::vector<Op>& ops = op.regions[0].ops;
    looped +=
        static_cast<int>(std::count_if(ops.begin(), ops.end(), [](const Op& o) { return o.code == OpCode::mma; }));
  });
  CHECK(looped == 4);
  CHECK(count(kernel, OpCode::mma) == 7);
}

TEST_CASE("a product that is in no loop takes no turn") {
  const auto kernel = [](const std::string& before, const std::string& after) {
    return parse(
        "kernel once placed grid(Row:128) threads 256 {\n  role @0 consumer x2\n"
        "  layout #0 {reg 2*Column:1 2*Row:8 8*Column:8 | lane 4*Column:2 8*Row:1 | warp 4*Row:16}\n"
        "  %as = alloc : shared<bf16[Row:64, Inner:64] x1>\n"
        "  %bs = alloc : shared<bf16[Column:64, Inner:64] x1>\n  role @0 {\n" +
        before +
        "    %0 = slot %as, 0 : view<bf16[Row:64, Inner:64]>\n"
        "    %1 = slot %bs, 0 : view<bf16[Column:64, Inner:64]>\n"
        "    mma_fence\n    %2 = mma Inner %0, %1 : f32[Row:64, Column:64] #0\n    mma_commit\n"
        "    %3 = mma_wait 0 %2\n" +
        after + "  }\n}\n");
  };
  const Kernel once = kernel("", ""), again = kernel("    loop 0 to 9 {\n    ^(%i)\n", "    yield\n    }\n");
  const Kernel maybe = kernel("    %c = lt 1, 2 : i1\n    when %c {\n", "    yield\n    }\n");
  for (const Kernel* k : {&once, &again, &maybe}) REQUIRE(verify(*k) == "");
  CHECK(print(backend::take_turns(once)) == print(once));
  CHECK(print(backend::take_turns(maybe)) == print(maybe));
  CHECK(count(backend::take_turns(again), OpCode::turn_wait) == 1);
}

TEST_CASE("turns and rings of any depth stop nobody") {
  test::TestTensor q(DType::bf16, {1, 3, 400, 64}), k(DType::bf16, {1, 1, 300, 64}), v(DType::bf16, {1, 1, 300, 64}),
      o(DType::bf16, {1, 3, 400, 64}), lse(DType::f32, {1, 3, 400});
  for (test::TestTensor* t : {&q, &k, &v}) t->fill_normal(3);
  const std::vector<Argument> arguments{q.view(), k.view(), v.view(), o.view(), lse.view()};
  for (int query_tile : {128, 192})
    for (bool persistent : {false, true}) {
      std::vector<std::vector<std::vector<double>>> outputs;
      for (int stages : {1, 2, 3}) {
        const Kernel kernel = backend::place(test::tiled_attention(several(query_tile)), test::hopper(),
                                             {.stages = stages, .persistent = persistent, .turns = true});
        REQUIRE(count(kernel, OpCode::turn_wait) == (query_tile == 192 ? 4 : 2));  // with and without rows
        outputs.push_back(test::outputs_of(kernel, arguments));
      }
      CHECK(outputs[0] == outputs[1]);
      CHECK(outputs[0] == outputs[2]);
    }
}

TEST_CASE("turns change no bit of what is computed") {
  for (int query_tile : {128, 192}) {
    for (std::int64_t keys : {0, 1, 64, 192, 320, 448}) {
      CAPTURE(query_tile);
      CAPTURE(keys);
      test::TestTensor q(DType::bf16, {1, 2, 200, 64}), k(DType::bf16, {1, 1, keys, 64}),
          v(DType::bf16, {1, 1, keys, 64}), o(DType::bf16, {1, 2, 200, 64}), lse(DType::f32, {1, 2, 200});
      for (test::TestTensor* t : {&q, &k, &v}) t->fill_normal(7);
      const std::vector<Argument> arguments{q.view(), k.view(), v.view(), o.view(), lse.view()};
      const Kernel tiled = test::tiled_attention(several(query_tile));
      CHECK(test::outputs_of(placed(tiled, true), arguments) == test::outputs_of(placed(tiled, false), arguments));
    }
  }
  test::TestTensor a(DType::bf16, {300, 320}), b(DType::bf16, {320, 128}), c(DType::f32, {300, 128});
  fill(a, 1);
  fill(b, 2);
  const std::vector<Argument> arguments{a.view(), b.view(), c.view()};
  CHECK(test::outputs_of(placed(test::tiled_matmul(), true), arguments) ==
        test::outputs_of(test::tiled_matmul(), arguments));
}

namespace {

// A role of `groups` warpgroups, which all read and write one number.
std::string text_of(int groups, const std::string& body) {
  std::string text = "kernel turns placed grid(Query:64) threads " + std::to_string(128 * groups) +
                     " {\n"
                     "  param x: in f32[Query]\n"
                     "  param y: out f32[Query]\n"
                     "  role @0 consumer x" +
                     std::to_string(groups) +
                     "\n"
                     "  layout #0 {reg 2*Query:8 | lane 4 8*Query:1 | warp 4*Query:16}\n"
                     "  role @0 {\n"
                     "    %g = group_id : i32\n"
                     "    %g1 = add %g, 1 : i32\n"
                     "    %digit = cast %g1 : f32\n";
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t end = body.find('\n', at);
    text += "    " + body.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return text + "  }\n}\n";
}

// Appends the warpgroup's digit to the number.
const std::string kAppend =
    "%0 = load x(0) : f32[Query:64] #0\n%1 = mul %0, 10 : f32[Query:64] #0\n%2 = add %1, %digit : f32[Query:64] #0\n"
    "store y(0), %2\n";

// The digits, or what is wrong.
std::string written(int groups, const std::string& body) {
  const Kernel kernel = parse(text_of(groups, body));
  REQUIRE(verify(kernel) == "");
  REQUIRE(legal(kernel, Stage::placed) == "");
  std::vector<float> number(64, 0);
  const View view = View::contiguous(number.data(), DType::f32, {64});
  const std::string wrong = test::complaint([&] { interpret(kernel, bind(kernel, {view, view}), {.threads = 1}); });
  return wrong == "none" ? std::to_string(static_cast<int>(number[0])) : wrong;
}

std::string looped(const std::string& trips, const std::string& body) {
  return "loop 0 to " + trips + " {\n^(%i)\n" + body + "yield\n}\n";
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("warpgroups take turns in their order, again and again") {
  const std::string turn = "turn_wait\n" + kAppend + "turn_pass\n";
  CHECK(written(1, looped("3", turn)) == "111");
  CHECK(written(2, looped("3", turn)) == "121212");
  CHECK(written(3, looped("2", turn)) == "123123");
  CHECK(written(3, looped("2", kAppend)) != "123123");  // which is the turns' doing
}

TEST_CASE("a turn that is passed without having been taken is noticed") {
  const std::string text = written(2, "turn_pass\n");
  CAPTURE(text);
  CHECK(has(text, "op 'turn_pass'"));
  CHECK(has(text, "in consumer 0: passes a turn that it has not got"));
  CHECK(has(written(2, "turn_wait\nturn_pass\nturn_pass\n"), "passes a turn that it has not got"));
}

TEST_CASE("a turn that is waited for by whoever has it is noticed") {
  const std::string text = written(2, "turn_wait\nturn_wait\nturn_pass\n");
  CAPTURE(text);
  CHECK(has(text, "op 'turn_wait'"));
  CHECK(has(text, "in consumer 0: waits for its turn while it has it"));
}

TEST_CASE("a turn that is not passed on is a deadlock of those after it, and noticed if there are none") {
  const std::string text = written(3, "turn_wait\n");
  CAPTURE(text);
  CHECK(has(text, "deadlock"));
  CHECK(has(text, "consumer 1 waits for its turn"));
  CHECK(has(text, "consumer 2 waits for its turn"));
  CHECK(!has(text, "consumer 0 waits"));
  CHECK(has(written(1, "turn_wait\n"), "consumer 0 ends with a turn that it has not passed"));
}

TEST_CASE("warpgroups that take different numbers of turns stop each other") {
  const std::string turn = "turn_wait\n" + kAppend + "turn_pass\n";
  const std::string later = written(2, looped("%g", turn));  // the first has none
  CAPTURE(later);
  CHECK(has(later, "deadlock"));
  CHECK(has(later, "consumer 1 waits for its turn"));
  const std::string earlier = written(2, "%t = sub 3, %g : i32\n" + looped("%t", turn));  // the first has one more
  CAPTURE(earlier);
  CHECK(earlier == "12121");  // it comes after the last that the second has
  const std::string twice = written(2, "%t = sub 3, %g1 : i32\n%u = mul %t, 2 : i32\n" + looped("%u", turn));
  CAPTURE(twice);
  CHECK(has(twice, "deadlock"));
  CHECK(has(twice, "consumer 0 waits for its turn"));
}
