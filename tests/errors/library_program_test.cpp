// What a Program refuses: options that do not fit its kernel when it is made, memory that is written and read when it
// is called, and, when it is asked, what no GPU would run.
#include <doctest/doctest.h>

#include <tessera/library/forward.h>
#include <tessera/library/patterns.h>

#include "support/program_cases.h"
#include "support/refusal.h"

using namespace tessera;
using namespace tessera::test;
using namespace tessera::test::programs;

namespace {

template <class Work>
std::string refusal(const Work& work) {
  return refusal_in(__FILE__, work);
}

using Tiles = std::vector<AxisTile>;

std::string refused(const Traced& traced, Tiles tiles, Tiles whole) {
  ProgramOptions options;
  options.tiles = std::move(tiles);
  options.whole = std::move(whole);
  return refusal([&] { Program program(traced, options); });
}

Traced norm() { return row_norm.trace(); }
Traced masked() { return forward.trace<bf16>(causal, Scores{}, ForwardOptions{}); }

}  // namespace

TEST_CASE("axes that the kernel does not have, or that are given twice") {
  CHECK(refused(norm(), {{"Row", 16}, {"Rows", 16}}, {{"Column", 24}}) ==
        "error: kernel 'row_norm' has no axis 'Rows'; note: its axes are Row, Column");
  CHECK(refused(norm(), {{"Row", 16}}, {{"Colunm", 24}}) ==
        "error: kernel 'row_norm' has no axis 'Colunm'; note: its axes are Row, Column");
  CHECK(refused(masked(), {{"query", 64}}, {{"Depth", 64}, {"Value", 64}}) ==
        "error: kernel 'forward' has no axis 'query'; note: its axes are Query, Head, Batch, Key, Depth, Value");
  CHECK(refused(norm(), {{"Row", 16}, {"Row", 32}}, {{"Column", 24}}) ==
        "error: axis Row is given twice; note: give each axis once, in tiles or in whole");
}

TEST_CASE("extents out of range") {
  const std::string remedy =
      "; note: give 1 to 4096 elements; sm_90a takes multiples of 64 for the rows of matrix products, of 16 for what "
      "they contract, of 8 for their columns";
  for (int extent : {0, -16, 4097, 1 << 30}) {
    CHECK(refused(norm(), {{"Row", extent}}, {{"Column", 24}}) ==
          "error: the tile of Row is " + std::to_string(extent) + remedy);
    CHECK(refused(masked(), {{"Query", 64}, {"Key", extent}}, {{"Depth", 64}, {"Value", 64}}) ==
          "error: the tile of Key is " + std::to_string(extent) + remedy);
  }
  for (int extent : {0, -1, 65537}) {
    CHECK(refused(norm(), {{"Row", 16}}, {{"Column", extent}}) ==
          "error: the length of Column is " + std::to_string(extent) +
              "; note: give 1 to 65536 elements, or loop over Column");
  }
  CHECK(refused(norm(), {{"Row", 4096}}, {{"Column", 65536}}) == "not refused");
  CHECK(refused(norm(), {{"Row", 1}}, {{"Column", 1}}) == "not refused");
}

TEST_CASE("axes in the wrong list") {
  // The kernel would compute the first 16 columns, and leave the others.
  CHECK(refused(norm(), {{"Row", 16}, {"Column", 16}}, {}) ==
        "error: axis Column of kernel 'row_norm' is neither on its grid nor looped over, and a tile of 16 is given; "
        "note: a tile has all of it: give its length, .whole = {{\"Column\", n}}");
  CHECK(
      refused(norm(), {}, {{"Row", 16}, {"Column", 24}}) ==
      "error: axis Row of kernel 'row_norm' is walked in tiles, and its length is given; note: the call says how long "
      "it is: give .tiles = {{\"Row\", n}}");
  CHECK(refused(masked(), {{"Head", 4}}, {{"Depth", 64}, {"Value", 64}}) ==
        "error: axis Head of kernel 'forward' is in no tensor's list of axes, and a tile of 4 is given; note: programs "
        "step along it by one: leave it out");
  CHECK(
      refused(masked(), {}, {{"Batch", 4}, {"Depth", 64}, {"Value", 64}}) ==
      "error: axis Batch of kernel 'forward' is stepped along by one, and its length is given; note: the call says how "
      "long it is: leave it out");
}

TEST_CASE("axes that are not given") {
  CHECK(refused(norm(), {}, {{"Column", 24}}) ==
        "error: kernel 'row_norm' walks axis Row in tiles, and no tile is given; note: give .tiles = {{\"Row\", n}}");
  CHECK(refused(norm(), {{"Row", 16}}, {}) ==
        "error: kernel 'row_norm' has all of axis Column in a tile, and its length is not given; note: give .whole = "
        "{{\"Column\", n}}");
  CHECK(
      refused(product.trace<bf16>(), {{"Row", 64}, {"Column", 64}}, {}) ==
      "error: kernel 'product' walks axis Inner in tiles, and no tile is given; note: give .tiles = {{\"Inner\", n}}");
  CHECK(refused(masked(), {}, {{"Depth", 64}, {"Value", 64}}) == "not refused");  // Query and Key have defaults
}

TEST_CASE("a target that there is not") {
  ProgramOptions options{.tiles = {{"Row", 16}}, .whole = {{"Column", 24}}, .target = "sm_12"};
  CHECK(refusal([&] { Program program(norm(), options); }) ==
        "error: there is no target named 'sm_12'; note: supported targets: sm_90a");
  options.target = "";
  const Program program(norm(), options);
  CHECK(refusal([&] { program.check("sm_12"); }) ==
        "error: there is no target named 'sm_12'; note: supported targets: sm_90a");
}

TEST_CASE("what no GPU would run, asked before any call") {
  const auto check = [](Traced traced, Tiles tiles, Tiles whole = {}, backend::Schedule schedule = {}) {
    ProgramOptions options;
    options.tiles = std::move(tiles);
    options.whole = std::move(whole);
    options.schedule = schedule;
    const Program program(std::move(traced), options);
    try {
      program.check("sm_90a");
    } catch (const UserError& error) {
      CHECK(error.loc().line > 0);
      const std::string text = error.what();
      CHECK(program.explain().find("sm_90a does not run it: ") != std::string::npos);
      return text.substr(text.find("error: "));
    }
    CHECK(program.explain().find("sm_90a runs it\n") != std::string::npos);
    return std::string("runs");
  };
  CHECK(check(product.trace<bf16>(), {{"Row", 128}, {"Column", 128}, {"Inner", 64}}) == "runs");
  CHECK(check(product.trace<bf16>(), {{"Row", 100}, {"Column", 128}, {"Inner", 64}}) ==
        "error: axis Row has a tile of 100 rows; note: matrix products take rows in multiples of 64: choose a tile of "
        "64, "
        "128 or 192");
  CHECK(check(product.trace<bf16>(), {{"Row", 128}, {"Column", 128}, {"Inner", 40}}) ==
        "error: dot over axis Inner, which has a tile of 40; note: matrix products contract a multiple of 16: choose a "
        "tile of 48");
  CHECK(check(product.trace<f32>(), {{"Row", 128}, {"Column", 128}, {"Inner", 64}}) ==
        "error: dot of f32[Row:128, Inner:64] operands; note: matrix products take f16 or bf16: cast it");
  CHECK(check(product.trace<bf16>(), {{"Row", 64}, {"Column", 64}, {"Inner", 64}}, {}, {.stages = 99}) ==
        "error: a schedule of 99 stages; note: use 1 to 8");
  CHECK(check(product.trace<bf16>(), {{"Row", 64}, {"Column", 64}, {"Inner", 64}}, {}, {.blocks = 9}) ==
        "error: a schedule of 9 blocks a multiprocessor; note: use 1 to 8, or 0 for the default");
  CHECK(
      check(product.trace<bf16>(), {{"Row", 128}, {"Column", 64}, {"Inner", 64}}, {}, {.blocks = 8}) ==
      "error: a schedule of 8 blocks of 384 threads, and a multiprocessor runs 2048; note: use at most 5 blocks, or 0 "
      "for the default");
  CHECK(check(product.trace<bf16>(), {{"Row", 64}, {"Column", 64}, {"Inner", 64}}, {}, {.blocks = 8})
            .find("error: kernel 'product' needs about 64 registers a thread") == 0);
  CHECK(check(norm(), {{"Row", 16}}, {{"Column", 24}}) == "runs");
  CHECK(check(norm(), {{"Row", 1024}}, {{"Column", 128}}) == "runs");
  CHECK(check(norm(), {{"Row", 4096}}, {{"Column", 128}}) ==
        "error: kernel 'row_norm' makes a tile f32[Row:4096, Column:128], 4096 elements for each thread; note: at most "
        "1024 fit: choose smaller tiles, or extents that are multiples of 32");
  CHECK(
      check(column_sums.trace(), {{"Row", 100}, {"Column", 100}}) ==
      "error: kernel 'column_sums' makes a tile f32[Row:100, Column:100], 2500 elements for each thread; note: at most "
      "1024 fit: choose smaller tiles, or extents that are multiples of 32");
  // With a mask, tables in it and none: planned for lengths that the tables have.
  const Tiles heads{{"Depth", 64}, {"Value", 64}};
  CHECK(check(masked(), {}, heads) == "runs");
  CHECK(check(masked(), {{"Query", 96}}, heads).find("error: axis Query has a tile of 96 rows") == 0);
  CHECK(check(forward.trace<bf16>(documents({0, 0, 1}), Scores{}, ForwardOptions{}), {}, heads) == "runs");
}

TEST_CASE("arguments that are missing or of another type, at the line of the call") {
  TestTensor q(DType::bf16, {1, 2, 64, 64}), o(DType::bf16, {1, 2, 64, 64});
  const Program program(masked(), {.whole = {{"Depth", 64}, {"Value", 64}}});
  const auto called = [&](auto arguments) { return refusal([&] { const_cast<Program&>(program)(arguments); }); };
  using Args = ForwardArgs<bound, bf16>;
  const View in = q.view(), out = o.view();
  CHECK(called(Args{.q = in, .k = in, .v = in, .o = out, .lse = {}, .scale = {}, .key_lengths = {}}) ==
        "error: kernel 'forward' is called without its argument 'scale'; note: set .scale in the argument struct");
  CHECK(called(Args{.q = in, .k = in, .v = {}, .o = out, .lse = {}, .scale = 1, .key_lengths = {}}) ==
        "error: kernel 'forward' is called without its argument 'v'; note: set .v in the argument struct");
  using Half = ForwardArgs<bound, f16>;
  CHECK(called(Half{.q = in, .k = in, .v = in, .o = out, .lse = {}, .scale = 1, .key_lengths = {}}) ==
        "error: argument 'q' of kernel 'forward' is an In of bf16[Query, Depth], and that of the argument struct is an "
        "In of f16[Query, Depth]; note: call it with the struct that it was traced with, and the same element types");
  CHECK(called(SoftmaxArgs<bound>{.x = in, .y = out, .sum = out}) ==
        "error: kernel 'forward' has an argument 'q', and the argument struct of the call has none of that name; note: "
        "call it with the struct that it was traced with");
  CHECK(refusal([&] { program.ir(ir::Stage::tiled); }) ==
        "error: the program was not called yet, and is planned for the lengths of a call; note: call it first");
  CHECK(refusal([&] { program.ptx(); }) ==
        "error: the program was not called yet, and is planned for the lengths of a call; note: call it first");
}

TEST_CASE("memory that is written and read") {
  TestTensor a(DType::bf16, {64, 64}), b(DType::bf16, {64, 64}), c(DType::f32, {64, 64});
  a.fill_normal(1);
  b.fill_normal(2);
  Program program(product.trace<bf16>(), {.tiles = {{"Row", 64}, {"Column", 64}, {"Inner", 64}}});
  const auto called = [&](auto change) {
    c.poison();
    ProductArgs<bound, bf16> call{.a = a.view(), .b = b.view(), .c = c.view()};
    change(call);
    const std::string text = refusal([&] { program(call); });
    if (text != "not refused") {
      for (double x : c.values()) CHECK(x != x);
    }
    return text;
  };
  CHECK(called([](auto&) {}) == "not refused");
  CHECK(called([](auto& call) { call.a.view.data = call.c.view.data; }) ==
        "error: c is written, and its memory overlaps that of a; note: give c memory of its own");
  CHECK(called([](auto& call) { call.b.view.data = static_cast<char*>(call.c.view.data) + 64 * 64 * 4 - 16; }) ==
        "error: c is written, and its memory overlaps that of b; note: give c memory of its own");
  CHECK(called([](auto& call) { call.c.view.strides[0] = 32; }) ==
        "error: c is an output of shape [64, 64] and strides [32, 1]: several elements share a place; note: give each "
        "output element its own memory");

  TestTensor x(DType::f32, {16, 24}), y(DType::f32, {16, 24});
  x.fill_normal(1);
  Program softmax(row_softmax.trace(), {.tiles = {{"Row", 16}}, .whole = {{"Column", 24}}});
  View sum = View::contiguous(y.view().data, DType::f32, {16});
  CHECK(refusal([&] { softmax(SoftmaxArgs<bound>{.x = x.view(), .y = y.view(), .sum = sum}); }) ==
        "error: y is written, and its memory overlaps that of sum; note: give y memory of its own");
}
