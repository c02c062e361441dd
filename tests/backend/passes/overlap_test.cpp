// Where products go when they overlap with the next iteration's, which loops are one pipeline, and that nothing else
// changes: neither what is computed nor in which order.
#include <tessera/backend/passes/overlap_products.h>

#include <doctest/doctest.h>

#include <regex>

#include <tessera/backend/compile.h>
#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/rewrite.h>
#include <tessera/dsl/ir/verify.h>

#include "backend/placed_runs.h"
#include "backend/tiled_kernels.h"
#include "support/sanitized.h"
#include "support/tensor.h"

using namespace tessera;
using namespace tessera::ir;

namespace {

Kernel placed(bool overlap, const Kernel& kernel, int stages = 2) {
  return backend::place(kernel, test::hopper(), {.stages = stages, .overlap = overlap, .turns = false});
}

// The products of a block and what orders them: `p` for a predicate of tile type, `g` for a table read for each element
// of a tile, `F`, `M` and `C` for fence, product and commit, a digit for a wait for all groups but so many, and regions
// in brackets: round ones are run once or not at all, square ones are loops.
std::string shape(const Block& block, const Graph& graph) {
  std::string text;
  for (const Op& op : block.ops) {
    const bool tile = !op.results.empty() && graph.type(op.results[0]).kind == TypeKind::tile &&
                      !graph.type(op.results[0]).is_scalar();
    if (is_elementwise(op.code) && tile && graph.type(op.results[0]).dtype == DType::i1) text += "p";
    if (op.code == OpCode::gather && tile) text += "g";
    if (op.code == OpCode::mma_fence) text += "F";
    if (op.code == OpCode::mma) text += "M";
    if (op.code == OpCode::mma_commit) text += "C";
    if (op.code == OpCode::mma_wait) text += std::to_string(op.index);
    for (const Block& region : op.regions)
      if (const std::string inner = shape(region, graph); !inner.empty())
        text += op.code == OpCode::loop ? "[" + inner + "]" : "(" + inner + ")";
  }
  return text;
}

// The consumer's; the predicate of what is stored is left out.
std::string shape(const Kernel& kernel) {
  for (const Op& op : kernel.entry.ops)
    if (op.code == OpCode::role && op.index == 1) {
      const Block* block = &op.regions[0];
      for (const Op& inner : block->ops)
        if (inner.code == OpCode::programs) block = &inner.regions[0];
      const std::string text = shape(*block, kernel);
      return text.substr(0, text.find_last_of("])") + 1);
    }
  return {};
}

std::string edited(const Kernel& kernel, const std::vector<std::pair<std::string, std::string>>& edits) {
  std::string text = print(kernel);
  for (const auto& [what, by] : edits) {
    const std::size_t at = text.find(what);
    CAPTURE(what);
    CAPTURE(text);
    REQUIRE(at != std::string::npos);
    text.replace(at, what.size(), by);
  }
  return text;
}

struct Call {
  test::TestTensor q, k, v, o, lse, document;
  std::vector<Argument> arguments;

  explicit Call(std::int64_t keys, bool documents = false)
      : q(DType::bf16, {1, 2, 200, 64}),
        k(DType::bf16, {1, 1, keys, 64}),
        v(DType::bf16, {1, 1, keys, 64}),
        o(DType::bf16, {1, 2, 200, 64}),
        lse(DType::f32, {1, 2, 200}),
        document(DType::i32, {500}) {
    for (test::TestTensor* t : {&q, &k, &v}) t->fill_normal(static_cast<std::uint64_t>(keys) + 1);
    for (std::int64_t i = 0; i < 500; ++i) document.set({i}, static_cast<double>(i / 90));
    arguments = {q.view(), k.view(), v.view(), o.view(), lse.view()};
    if (documents) arguments.push_back(document.view());
  }
};

// Neither loop of kSeveral has a trip, one of them has one or more, or both have.
constexpr int kLengths[] = {0, 60, 64, 100, 192, 320, 384, 400};

void check_same_bits(const Kernel& tiled) {
  for (int keys : kLengths) {
    CAPTURE(keys);
    const Call call(keys);
    CHECK(test::outputs_of(placed(true, tiled), call.arguments) ==
          test::outputs_of(placed(false, tiled), call.arguments));
  }
}

constexpr test::AttentionShape kSeveral{.partial_tiles = 3};
constexpr test::AttentionShape kDocuments{.partial_tiles = 3, .documents = true};

// Two loops that are one pipeline, in letters of shape().
const std::string kFirst = "(FMC0)", kIteration = "[FMCFMC10]", kDrain = "(FMC0)";
const std::string kFirstPartial = "(FMC0p)", kIterationPartial = "[FMCFMC1p0]";
const std::string kLinked = kFirstPartial + kIterationPartial + kFirst + kIteration + kDrain;
const std::string kApart = kFirstPartial + kIterationPartial + kDrain + kFirst + kIteration + kDrain;

}  // namespace

TEST_CASE("both loops issue the last product beside the next first one, and the second goes on where the first ends") {
  for (const test::AttentionShape& s : {test::AttentionShape{}, kSeveral}) {
    CHECK(shape(placed(false, test::tiled_attention(s))) == "[pFMC0FMC0][FMC0FMC0]");
    CHECK(shape(placed(true, test::tiled_attention(s))) == kLinked);
  }
}

TEST_CASE("predicates stand between the first product and what they decide about") {
  const std::string tail = kFirst + kIteration + kDrain;
  CHECK(shape(placed(true, test::tiled_attention(kSeveral))) == "(FMC0p)[FMCFMC1p0]" + tail);
  // With table elements to be read as well, the pending product gives its registers back first.
  CHECK(shape(placed(false, test::tiled_attention(kDocuments))) == "[pggppFMC0FMC0][FMC0FMC0]");
  CHECK(shape(placed(true, test::tiled_attention(kDocuments))) == "(FMC0pggpp)[FMCFMC10pggpp]" + tail);
}

TEST_CASE("a loop with one product has nothing to run beside it") {
  CHECK(print(placed(true, test::tiled_matmul())) == print(placed(false, test::tiled_matmul())));
  CHECK(print(placed(true, test::tiled_rows())) == print(placed(false, test::tiled_rows())));
}

TEST_CASE("loops of any number of trips, none included, compute what they did before") {
  std::size_t turn = 0;
  for (const test::AttentionShape& s : {test::AttentionShape{}, kSeveral, kDocuments}) {
    const Kernel tiled = test::tiled_attention(s);
    for (int stages : {1, 2, 3}) {
      const Kernel before = placed(false, tiled, stages), after = placed(true, tiled, stages);
      REQUIRE(legal(after, Stage::placed) == "");
      for (int keys : kLengths) {
        if (test::left_out(turn, 5)) continue;
        CAPTURE(s.partial_tiles);
        CAPTURE(s.documents);
        CAPTURE(stages);
        CAPTURE(keys);
        const Call call(keys, s.documents);
        const std::vector<std::vector<double>> outputs = test::outputs_of(after, call.arguments);
        CHECK(outputs == test::outputs_of(before, call.arguments));
        CHECK(test::largest_difference(test::outputs_of(tiled, call.arguments), outputs) <= 0.01);
      }
    }
  }
}

namespace {

// What the second loop of kSeveral starts with.
std::string carried(const std::string& row_max, const std::string& row_sum, const std::string& acc) {
  return "(%row_max.2 = " + row_max + ", %row_sum.2 = " + row_sum + ", %acc.2 = " + acc + ")";
}

// What the first loop starts `name` with.
std::string initial(const Kernel& kernel, const std::string& name) {
  const std::string text = print(kernel), what = "%" + name + " = ";
  const std::size_t begin = text.find(what) + what.size();
  return text.substr(begin, text.find_first_of(",)", begin) - begin);
}

struct Apart {
  std::string why;
  std::vector<std::pair<std::string, std::string>> edits;
};

}  // namespace

TEST_CASE("a loop that does not go on with exactly what the one before it yields has a pipeline of its own") {
  const Kernel tiled = test::tiled_attention(kSeveral);
  const std::string linked = carried("%row_max.1", "%row_sum.1", "%acc.1"), sum = initial(tiled, "row_sum"),
                    acc = initial(tiled, "acc");
  const std::vector<Apart> all = {
      {"one value starts anew", {{linked, carried("%row_max.1", sum, "%acc.1")}}},
      {"the accumulator does", {{linked, carried("%row_max.1", "%row_sum.1", acc)}}},
      {"values change places", {{linked, carried("%row_sum.1", "%row_max.1", "%acc.1")}}},
      {"one is changed in between",
       {{"  %row_max.3, ", "  %between = max %row_max.1, 0 : f32[Query:128]\n  %row_max.3, "},
        {linked, carried("%between", "%row_sum.1", "%acc.1")}}},
      {"its values have another ring",
       {{"  param o:", "  param w: in bf16[Key, Value]\n  param o:"}, {"load v(", "load w("}}},
  };
  REQUIRE(shape(placed(true, parse(edited(tiled, {{linked, linked}})))) == kLinked);
  for (const Apart& apart : all) {
    CAPTURE(apart.why);
    const Kernel changed = parse(edited(tiled, apart.edits));
    REQUIRE(verify(changed) == "");
    const Kernel before = placed(false, changed), after = placed(true, changed);
    CHECK(shape(after) == kApart);
    for (int keys : kLengths) {
      CAPTURE(keys);
      Call call(keys);
      if (changed.params.size() == 6) call.arguments.insert(call.arguments.begin() + 3, call.k.view());
      CHECK(test::largest_difference(test::outputs_of(after, call.arguments),
                                     test::outputs_of(before, call.arguments)) == 0);  // NaNs included
    }
  }
}

TEST_CASE("what the first loop yields may be read after the second") {
  const Kernel tiled = test::tiled_attention(kSeveral);
  const std::string text = print(tiled);
  const std::size_t value = text.find(", ", text.rfind("store lse(")) + 2;
  for (const char* yielded : {"%row_max.1", "%row_sum.1"}) {
    const Kernel kernel = parse(text.substr(0, value) + yielded + text.substr(text.find('\n', value)));
    REQUIRE(verify(kernel) == "");
    check_same_bits(kernel);
  }
}

TEST_CASE("a predicate may be read before the first product") {
  const std::string text = print(test::tiled_attention(kSeveral));
  const std::regex predicate(R"(( *)(%\w+) = (lt .*)\n)"), select(R"(= select (%\w+), (%\w+), -inf :)");
  const std::string biased =
      std::regex_replace(std::regex_replace(text, predicate, "$1$2 = $3\n$1%bias = select $2, 0, -inf : f32[Key:64]\n"),
                         select, "= add $2, %bias :");
  CAPTURE(biased);
  const Kernel kernel = parse(biased);
  REQUIRE(verify(kernel) == "");
  check_same_bits(kernel);
}
