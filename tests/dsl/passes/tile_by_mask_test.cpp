// What tile_by_mask leaves: loops, parameters, guards.
#include <doctest/doctest.h>

#include <tessera/dsl/ir/rewrite.h>
#include <tessera/dsl/ir/verify.h>
#include <tessera/dsl/passes/simplify.h>
#include <tessera/dsl/passes/tile_by_mask.h>

#include "dsl/mask/predicates.h"
#include "dsl/passes/attention_program.h"

using namespace tessera;
using namespace tessera::testing;

namespace {

ir::Axis axis(const char* name) { return ir::Axis::named(name); }

passes::Tiling whole(int depth, int value) {
  return {.tiles = {}, .whole = {{axis("Depth"), depth}, {axis("Value"), value}}};
}

ir::Kernel tile(const mask::Pointwise& m, mask::PlanRequest r, const passes::Tiling& tiling = whole(64, 64)) {
  const mask::Plan plan = mask::make_plan(m, r);
  const ir::Kernel tiled = passes::tile_by_mask(passes::simplify(forward(m, !r.key_lengths.empty())), &plan, tiling);
  ir::check(tiled, "tile_by_mask");
  return passes::simplify(tiled);
}

mask::PlanRequest request(std::int64_t length) {
  mask::PlanRequest r;
  r.query_length = r.key_length = length;
  return r;
}

int count(const ir::Block& block, ir::OpCode code) {
  int n = 0;
  ir::walk(block, [&](const ir::Op& op) { n += op.code == code; });
  return n;
}

std::vector<const ir::Op*> loops(const ir::Kernel& kernel) {
  std::vector<const ir::Op*> found;
  ir::walk(kernel.entry, [&](const ir::Op& op) {
    if (op.code == ir::OpCode::loop) found.push_back(&op);
  });
  return found;
}

// A kernel without masks, tiled by Query:32, Key:16.
ir::Kernel tiled_program(const std::string& body, std::vector<ir::Dim> whole_axes) {
  const ir::Kernel traced = ir::parse(
      "kernel f traced grid(Query) {\n"
      "  param a: in f32[Query, Depth]\n"
      "  param b: in f32[Key, Depth]\n"
      "  param o: out f32[Query]\n"
      "  param p: out f32[Query, Depth]\n" +
      body + "}\n");
  const passes::Tiling tiling{.tiles = {{axis("Query"), 32}, {axis("Key"), 16}}, .whole = std::move(whole_axes)};
  const ir::Kernel tiled = passes::tile_by_mask(passes::simplify(traced), nullptr, tiling);
  ir::check(tiled, "tile_by_mask");
  return tiled;
}

const char* const kSumOverKeys = R"(  %0 = constant 0 : f32[Query, Depth]
  %s.1 = over Key (%s = %0) {
    ^(%t: tile Key)
    %1 = load b(%t) : f32[Key, Depth]
    %2 = EXP %1 : f32[Key, Depth]
    %3 = reduce_sum Key %2 : f32[Depth]
    %4 = add %s, %3 : f32[Query, Depth]
    yield %4
  }
  store p(), %s.1
)";

}  // namespace

TEST_CASE("full tiles carry no trace of the mask, attention needs no guards") {
  const ir::Kernel kernel =
      tile(predicate("p", [](Args& a) { return (a.k <= a.q) & (a.q - a.k <= 1024); }), request(4096));
  const auto both = loops(kernel);
  REQUIRE(both.size() == 2);
  CHECK(count(both[0]->regions[0], ir::OpCode::dot) == 2);
  CHECK(count(both[1]->regions[0], ir::OpCode::dot) == 2);
  for (const ir::OpCode code :
       {ir::OpCode::select, ir::OpCode::lt, ir::OpCode::le, ir::OpCode::iota, ir::OpCode::logical_and})
    CHECK(count(both[1]->regions[0], code) == 0);
  // Which of the two runs of partial tiles, and the mask.
  CHECK(count(both[0]->regions[0], ir::OpCode::select) == 2);
  CHECK(kernel.functions.empty());
  CHECK(kernel.params.size() == 6);
}

TEST_CASE("dense attention walks full tiles, then the tail") {
  const ir::Kernel kernel = tile(mask::everything(), request(4096));
  REQUIRE(loops(kernel).size() == 2);
  CHECK(count(loops(kernel)[0]->regions[0], ir::OpCode::select) == 1);
  CHECK(count(loops(kernel)[1]->regions[0], ir::OpCode::select) == 0);
}

TEST_CASE("parameters of functions and lists follow the kernel's own") {
  std::vector<std::int32_t> ids(300, 0);
  const mask::Pointwise docs = predicate("p", [&](Args& a) {
    const Table t = table(ids);
    const Expr mine = a.read("scale", t, {a.q}), reach = a.q + a.scalar("reach", 3);
    return (mine == a.read("scale", t, {a.k})) & (a.k <= reach) & (a.head >= a.batch);
  });
  mask::PlanRequest r = request(300);
  r.heads = 2, r.batch = 2;
  const ir::Kernel kernel = tile(docs, r);
  std::vector<std::string> names;
  for (const ir::Param& p : kernel.params) names.push_back(p.name);
  CHECK(names == std::vector<std::string>{"q", "k", "v", "o", "lse", "scale", "scale_2", "reach", "tile_rows",
                                          "tile_ids", "tile_class"});
  // What a list says is small; what a mask captures may be anything.
  for (const ir::Param& p : kernel.params) CHECK(p.indices == (p.name.rfind("tile_", 0) == 0));
  r.heads = r.batch = 1;
  CHECK(tile(docs, r).params.size() == 10);
}

TEST_CASE("bounded keys are loaded with their bound, in tiles that may pass it") {
  mask::PlanRequest r = request(300);
  r.key_lengths = {300};
  const ir::Kernel kernel = tile(predicate("p", [](Args& a) { return a.k <= a.q; }), r);
  for (std::size_t i = 0; i < 2; ++i)
    ir::walk(loops(kernel).at(i)->regions[0], [&](const ir::Op& op) {
      if (op.code == ir::OpCode::load) CHECK(op.operands.size() == (i == 0 ? 3u : 2u));
    });
}

TEST_CASE("whole axes are padded to what products and stores need") {
  const ir::Kernel kernel = tile(mask::everything(), request(256), whole(120, 40));
  ir::walk(kernel.entry, [&](const ir::Op& op) {
    if (op.code == ir::OpCode::load && op.index < 2) CHECK(kernel.type(op.results[0]).extent(axis("Depth")) == 128);
    if (op.code == ir::OpCode::load && op.index == 2) CHECK(kernel.type(op.results[0]).extent(axis("Value")) == 40);
  });
  CHECK(*kernel.whole_extent(axis("Depth")) == ir::Dim{axis("Depth"), 120});
  CHECK(count(kernel.entry, ir::OpCode::select) ==
        count(tile(mask::everything(), request(256)).entry, ir::OpCode::select));
}

TEST_CASE("a sum of exponentials over a padded axis is guarded, a plain sum is not") {
  const std::string sum =
      "  %0 = load a : f32[Query, Depth]\n  %1 = EXP %0 : f32[Query, Depth]\n"
      "  %2 = reduce_sum Depth %1 : f32[Query]\n  store o(), %2\n";
  CHECK(count(tiled_program(replaced(sum, "EXP", "exp"), {{axis("Depth"), 60}}).entry, ir::OpCode::select) == 1);
  CHECK(count(tiled_program(replaced(sum, "EXP", "exp"), {{axis("Depth"), 64}}).entry, ir::OpCode::select) == 0);
  CHECK(count(tiled_program(replaced(sum, "EXP", "neg"), {{axis("Depth"), 60}}).entry, ir::OpCode::select) == 0);
}

TEST_CASE("loops without a mask are one loop, unless the last tile needs a guard") {
  const ir::Kernel plain = tiled_program(replaced(kSumOverKeys, "EXP", "neg"), {{axis("Depth"), 8}});
  CHECK(loops(plain).size() == 1);
  CHECK(count(plain.entry, ir::OpCode::select) == 0);
  const ir::Kernel guarded = tiled_program(replaced(kSumOverKeys, "EXP", "exp"), {{axis("Depth"), 8}});
  REQUIRE(loops(guarded).size() == 2);
  CHECK(count(loops(guarded)[0]->regions[0], ir::OpCode::select) == 1);
  CHECK(count(loops(guarded)[1]->regions[0], ir::OpCode::select) == 0);
}

TEST_CASE("guards are what the program means") {
  for (const char* op : {"exp", "neg", "abs"})
    for (const auto& [queries, keys, depth] : {std::tuple{33, 17, 5}, {32, 16, 8}, {1, 1, 1}, {40, 0, 3}}) {
      const ir::Kernel kernel = tiled_program(replaced(kSumOverKeys, "EXP", op), {{axis("Depth"), depth}});
      test::TestTensor a(DType::f32, {queries, depth}), b(DType::f32, {keys, depth}), o(DType::f32, {queries}),
          p(DType::f32, {queries, depth});
      a.fill_normal(1), b.fill_normal(2), p.poison();
      ir::interpret(kernel, ir::bind(kernel, {a.view(), b.view(), o.view(), p.view()}));
      for (int d = 0; d < depth; ++d) {
        double want = 0;
        for (int k = 0; k < keys; ++k) {
          const double x = b.at({k, d});
          want += std::string(op) == "exp" ? std::exp(x) : std::string(op) == "neg" ? -x : std::fabs(x);
        }
        for (int q = 0; q < queries; ++q) CHECK(p.at({q, d}) == doctest::Approx(want).epsilon(1e-5));
      }
      CHECK(p.guards_intact());
    }
}

TEST_CASE("an axis without an extent is refused") {
  CHECK_THROWS_WITH_AS(tile(mask::everything(), request(64), {.tiles = {}, .whole = {{axis("Value"), 64}}}),
                       "error: kernel 'forward' has no tile extent for axis Depth; note: give one in the tiling: "
                       "`tiles` for axes that are "
                       "walked in tiles, `whole` for those that are not",
                       UserError);
  const mask::Plan* none = nullptr;
  CHECK_THROWS_AS(passes::tile_by_mask(forward(mask::everything()), none, whole(64, 64)), UserError);
}

TEST_CASE("the query axis is Query, else the first grid axis that tensors list; a mask needs one") {
  ir::Kernel kernel = forward(mask::everything());
  kernel.grid = {axis("Batch"), axis("Key"), axis("Query"), axis("Head")};
  CHECK(ir::query_axis(kernel) == axis("Query"));
  kernel.grid = {axis("Batch"), axis("Key"), axis("Value"), axis("Head")};
  CHECK(ir::query_axis(kernel) == axis("Key"));
  kernel.grid = {axis("Batch"), axis("Head")};
  CHECK_FALSE(ir::query_axis(kernel));
  const mask::Plan plan = mask::make_plan(mask::everything(), request(64));
  CHECK_THROWS_AS(passes::tile_by_mask(kernel, &plan, whole(64, 64)), UserError);
}

TEST_CASE("a plan of several passes is refused, not half of it taken") {
  const mask::Pointwise causal = predicate("p", [](Args& a) { return a.k <= a.q; });
  mask::Plan plan = mask::make_plan(causal, request(300));
  plan.passes.push_back(plan.passes[0]);
  CHECK_THROWS_AS(passes::tile_by_mask(passes::simplify(forward(causal, false)), &plan, whole(64, 64)), InternalError);
}
