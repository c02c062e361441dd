// What Attention refuses before it runs: cause, numbers and remedy, at the user's line, and nothing written.
#include <tessera/library/attention.h>
#include <tessera/runtime/driver.h>

#include <cmath>

#include <doctest/doctest.h>

#include "support/refusal.h"
#include "support/tensor.h"

using namespace tessera;
using namespace tessera::test;

namespace {

template <class Work>
std::string refusal(const Work& work) {
  return refusal_in(__FILE__, work);
}

AttentionOptions small(Mask mask = full) { return {.mask = std::move(mask), .dtype = DType::bf16, .head_dim = 64}; }

// A call that works, to be spoiled in one place.
struct Call {
  TestTensor q{DType::bf16, {2, 4, 40, 64}}, k{DType::bf16, {2, 2, 50, 64}}, v{DType::bf16, {2, 2, 50, 64}},
      o{DType::bf16, {2, 4, 40, 64}};
  TestTensor lse{DType::f32, {2, 4, 40}}, lengths{DType::i32, {2}};
  AttentionCall call{.q = q.view(), .k = k.view(), .v = v.view(), .o = o.view(), .lse = lse.view()};

  template <class Spoil>
  std::string refused(Spoil spoil, AttentionOptions options = small()) {
    spoil(call);
    std::string text = refusal([&] {
      Attention attend(std::move(options));
      attend(call);
    });
    for (double x : o.values()) CHECK(x != x);  // still as poisoned at first
    return text;
  }
};

}  // namespace

TEST_CASE("options") {
  auto with = [](auto change) {
    AttentionOptions options = small();
    change(options);
    return refusal([&] { Attention attend(options); });
  };
  CHECK(with([](auto& o) { o.head_dim = 100; }) ==
        "error: head_dim is 100, not a multiple of 8; note: pad the head to 104 columns of zeros, and give the scale "
        "of the true dim");
  CHECK(with([](auto& o) { o.head_dim = 264; }) ==
        "error: head_dim is 264, above the limit of 256; note: split the head");
  CHECK(with([](auto& o) { o.head_dim = 0; }) ==
        "error: head_dim is 0; note: give the columns of a head: a multiple of 8 up to 256");
  CHECK(with([](auto& o) { o.value_dim = 4; }) ==
        "error: value_dim is 4, not a multiple of 8; note: pad the head to 8 columns of zeros, and give the scale of "
        "the true dim");
  CHECK(with([](auto& o) { o.dtype = DType::f32; }) ==
        "error: dtype is f32; note: attention takes f16 or bf16: convert q, k and v (sums are in f32 either way)");
  CHECK(with([](auto& o) { o.query_tile = 100; }) ==
        "error: query_tile is 100; note: give a multiple of 64 up to 192, or 0 for the default");
  CHECK(with([](auto& o) { o.key_tile = 512; }) ==
        "error: key_tile is 512; note: give a multiple of 16 up to 256, or 0 for the default");
  CHECK(with([](auto& o) { o.target = "sm_12"; }) ==
        "error: there is no target named 'sm_12'; note: supported targets: sm_90a");
  CHECK(with([](auto& o) {
          o.target = "sm_80";
        }).find("error: target sm_80 is not supported: it has no tensor copies") == 0);
}

TEST_CASE("dtype, rank and shape") {
  CHECK(Call().refused([](auto& c) { c.k.dtype = DType::f16; }) ==
        "error: k has dtype f16, expected bf16; note: convert k, or make an Attention for f16");
  CHECK(Call().refused([](auto& c) { c.q.shape.pop_back(), c.q.strides.pop_back(); }) ==
        "error: q has 3 dims and 3 strides, expected 4 of each; note: give q the shape [batch, heads, length, dim]");
  CHECK(Call().refused([](auto& c) { c.q.shape[3] = 32; }) ==
        "error: q has the shape [2, 4, 40, 32]: dim 3 is 32, expected 64 (head_dim); note: make the shapes agree");
  CHECK(Call().refused([](auto& c) { c.k.shape[0] = 1; }) ==
        "error: k has the shape [1, 2, 50, 64]: dim 0 is 1, expected 2 (the batch of q); note: make the shapes agree");
  CHECK(Call().refused([](auto& c) { c.v.shape[2] = 49; }) ==
        "error: v has the shape [2, 2, 49, 64]: dim 2 is 49, expected 50 (the keys of k); note: make the shapes agree");
  CHECK(Call().refused([](auto& c) { c.o.shape[2] = 39; }) ==
        "error: o has the shape [2, 4, 39, 64]: dim 2 is 39, expected 40 (as in q); note: make the shapes agree");
  CHECK(Call().refused([](auto& c) { c.lse.shape[1] = 2; }) ==
        "error: lse has the shape [2, 2, 40]: dim 1 is 2, expected 4 (as in q); note: make the shapes agree");
  CHECK(Call().refused([](auto& c) { c.q.shape[1] = c.o.shape[1] = c.lse.shape[1] = 3; }) ==
        "error: 3 query heads do not divide evenly over 2 key and value heads; note: make the number of query heads a "
        "multiple of the "
        "number of key and value heads");
  CHECK(Call().refused([](auto& c) { c.v.data = nullptr; }) ==
        "error: v has no memory: its pointer is null and its shape is [2, 2, 50, 64]; note: pass a view of allocated "
        "memory");
}

// A remedy that can work: no Attention is made for f32, and no LSE is of another type.
TEST_CASE("dtypes that no Attention has") {
  CHECK(Call().refused([](auto& c) { c.o.dtype = DType::f32; }) ==
        "error: o has dtype f32, expected bf16; note: give o as bf16");
  CHECK(Call().refused([](auto& c) { c.lse.dtype = DType::bf16; }) ==
        "error: lse has dtype bf16, expected f32; note: give lse as f32");
  CHECK(Call().refused([](auto& c) { c.key_lengths = View::contiguous(c.lse.data, DType::f32, {2}); }) ==
        "error: key_lengths has dtype f32, expected i32; note: give key_lengths as i32");
}

TEST_CASE("strides and alignment (B53)") {
  CHECK(Call().refused([](auto& c) { c.q.strides[3] = 2; }) ==
        "error: q has stride 2 along its last dim, must be 1; note: copy q so that its rows are contiguous");
  CHECK(Call().refused([](auto& c) { c.k.strides[2] = 65; }) ==
        "error: k has stride 65 along dim 2: 130 bytes, not a multiple of 16; note: pad its rows to a multiple of 8 "
        "elements");
  CHECK(Call().refused([](auto& c) { c.v.strides[2] = -64; }) ==
        "error: v has stride -64 along dim 2; note: use strides of 0 or more");
  CHECK(Call().refused([](auto& c) { c.k.data = static_cast<std::byte*>(c.k.data) + 2; }) ==
        "error: k starts 2 bytes past a multiple of 16; note: start it at a multiple of 8 elements of a 16-byte "
        "aligned allocation");
  CHECK(Call().refused([](auto& c) { c.o.strides[1] = 0; }) ==
        "error: o is an output of shape [2, 4, 40, 64] and strides [10240, 0, 64, 1]: several elements share a place; "
        "note: give each "
        "output element its own memory");
}

TEST_CASE("memory: none, or another than the rest") {
  CHECK(Call().refused([](auto& c) { c.k.memory = Memory::device; }) ==
        "error: k is in device memory and q in host memory; note: put all tensors of a call in one memory");
}

TEST_CASE("device memory where there is no device") {
  if (runtime::driver_missing().empty()) return;
  CHECK(Call().refused([](auto& c) {
    for (View* view : {&c.q, &c.k, &c.v, &c.o, &c.lse}) view->memory = Memory::device;
  }) == "error: q is in device memory, and there is no device: " + runtime::driver_missing() +
            "; note: pass views of host memory to run on the CPU");
}

TEST_CASE("outputs that overlap what is read, or each other") {
  CHECK(Call().refused([](auto& c) { c.q.data = c.o.data; }) ==
        "error: o is written, and its memory overlaps that of q; note: give o memory of its own");
  CHECK(Call().refused([](auto& c) { c.v.data = static_cast<std::byte*>(c.o.data) + c.o.elements() * 2 - 16; }) ==
        "error: o is written, and its memory overlaps that of v; note: give o memory of its own");
  CHECK(Call().refused([](auto& c) { c.lse.data = c.k.data; }) ==
        "error: lse is written, and its memory overlaps that of k; note: give lse memory of its own");
  CHECK(Call().refused([](auto& c) { c.lse.data = c.o.data; }) ==
        "error: lse is written, and its memory overlaps that of o; note: give lse memory of its own");
  CHECK(Call().refused([](auto& c) { c.lse.data = static_cast<std::byte*>(c.o.data) - c.lse.elements() * 4 + 4; }) ==
        "error: lse is written, and its memory overlaps that of o; note: give lse memory of its own");
  Call lengths;
  lengths.lengths.fill(0);
  CHECK(lengths.refused([&](auto& c) {
    c.key_lengths = lengths.lengths.view();
    c.lse.data = c.key_lengths.data;
  }) == "error: lse is written, and its memory overlaps that of key_lengths; note: give lse memory of its own");
  Call biased;
  AttentionOptions options = small();
  options.scores = {dense_bias()};
  CHECK(
      biased.refused([&](auto& c) { c.tables = {{"bias", View::contiguous(c.lse.data, DType::f32, {1, 1, 40, 50})}}; },
                     options) ==
      "error: lse is written, and its memory overlaps that of bias; note: give lse memory of its own");
}

TEST_CASE("an output may start where an input ends") {
  std::vector<std::uint16_t> memory(8 + 4 * 64 * 64, 0);
  auto at = reinterpret_cast<std::uintptr_t>(memory.data());
  std::uint16_t* first = memory.data() + (16 - at % 16) % 16 / 2;
  auto view = [&](int i) { return View::contiguous(first + i * 64 * 64, DType::bf16, {1, 1, 64, 64}); };
  Attention attend(small());
  attend({.q = view(0), .k = view(1), .v = view(3), .o = view(2)});
  CHECK(view(2).elements() == 64 * 64);
}

TEST_CASE("key lengths") {
  Call c;
  c.lengths.set({0}, 51);
  c.lengths.set({1}, 3);
  CHECK(c.refused([&](auto& call) { call.key_lengths = c.lengths.view(); }) ==
        "error: key_lengths[0] is 51, and k has 50 keys; note: give lengths from 0 to the number of keys");
  Call d;
  CHECK(d.refused([&](auto& call) {
    call.key_lengths = d.lengths.view();
    call.key_lengths.shape[0] = 1;
  }) == "error: key_lengths has the shape [1]: dim 0 is 1, expected 2 (the batch of q); note: make the shapes agree");
}

TEST_CASE("a mask that was made for other lengths, or too short a table (B25)") {
  std::vector<std::int32_t> short_ids(45, 0), long_ids(64, 0);
  CHECK(Call().refused([](auto&) {}, small(documents(short_ids))) ==
        "error: table 'document' of shape [45] is read along its dim 0 by keys, of which this call has 50; note: it "
        "was made for 45: make "
        "the mask or score for these lengths");
  CHECK(Call().refused([](auto&) {}, small(documents(long_ids))) ==
        "error: table 'document' of shape [64] is read along its dim 0 by keys, of which this call has 50; note: it "
        "was made for 64: make "
        "the mask or score for these lengths");
  AttentionOptions eight_heads = small();
  eight_heads.scores = {alibi(8)};
  CHECK(Call().refused([](auto&) {}, eight_heads) ==
        "error: table 'slope' of shape [8] is read along its dim 0 by heads, of which this call has 4; note: it was "
        "made for 8: make the "
        "mask or score for these lengths");
}

TEST_CASE("names that nobody reads, and tables that are missing") {
  AttentionOptions options = small(window(Param<i32>{"left", 3}, Param<i32>{"right", 0}));
  CHECK(Call().refused([](auto& c) { c.params = {{"widht", 4}}; }, options) ==
        "error: no mask or score of this Attention reads a Param named 'widht'; note: it reads: left, right");
  options.scores = {dense_bias()};
  CHECK(Call().refused([](auto&) {}, options) ==
        "error: the call lacks the table 'bias'; note: give .tables = {{\"bias\", view}}");
  CHECK(Call().refused([](auto& c) { c.tables = {{"bias", c.q}}; }) ==
        "error: no mask or score of this Attention reads a table named 'bias' at the call; note: it reads none");
}

TEST_CASE("a name given twice") {
  AttentionOptions options = small(window(Param<i32>{"left", 3}, Param<i32>{"right", 0}));
  options.scores = {dense_bias()};
  TestTensor bias(DType::f32, {1, 1, 40, 50});
  bias.fill(0);
  CHECK(Call().refused(
            [&](auto& c) {
              c.params = {{"left", 4}, {"right", 0}, {"left", 4}};
              c.tables = {{"bias", bias.view()}};
            },
            options) == "error: Param 'left' is given twice; note: give each name once");
  CHECK(Call().refused([&](auto& c) { c.tables = {{"bias", bias.view()}, {"bias", bias.view()}}; }, options) ==
        "error: table 'bias' is given twice; note: give each name once");
}

TEST_CASE("values that a Param does not hold") {
  const Param<f32> factor{"factor", 1.0};
  AttentionOptions options = small(window(Param<i32>{"left", 3}, Param<i32>{"right", 0}));
  options.scores = {[=](ScoreValue s, Position, Position) { return s * factor; }};
  const auto with = [&](const char* name, double value) {
    return Call().refused([&](auto& c) { c.params = {{name, value}}; }, options);
  };
  const std::string whole = "; note: pass a whole number that fits 32 bits",
                    finite = "; note: pass a finite number of at most 3.4e38";
  CHECK(with("left", 2.5) == "error: 'left' is an i32 scalar, got 2.5" + whole);
  CHECK(with("left", 0x1p31) == "error: 'left' is an i32 scalar, got 2147483648" + whole);
  CHECK(with("left", std::nan("")) == "error: 'left' is an i32 scalar, got nan" + whole);
  CHECK(with("factor", std::nan("")) == "error: 'factor' is an f32 scalar, got nan" + finite);
  CHECK(with("factor", -HUGE_VAL) == "error: 'factor' is an f32 scalar, got -inf" + finite);
  CHECK(with("factor", 1e39) == "error: 'factor' is an f32 scalar, got 1e+39" + finite);
  Call last;
  last.call.params = {{"left", -0x1p31}, {"factor", 3.4028234663852886e38}};
  CHECK(refusal([&] {
          Attention attend(options);
          attend(last.call);
        }) == "not refused");
}

TEST_CASE("a table of another rank than it is read with") {
  AttentionOptions options = small();
  options.scores = {dense_bias()};
  TestTensor bias(DType::f32, {40, 50});
  CHECK(Call().refused([&](auto& c) { c.tables = {{"bias", bias.view()}}; }, options) ==
        "error: table 'bias' has the shape [40, 50], and is read at 4 positions; note: give it 4 dims");
  TestTensor ids(DType::i32, {1, 50});
  CHECK(Call().refused([&](auto& c) { c.tables = {{"ids", ids.view()}}; }, small(documents(Table<i32>("ids")))) ==
        "error: table 'ids' has the shape [1, 50], and is read at 1 position; note: give it 1 dim");
}

TEST_CASE("one cubin of a chain") {
  Attention attend({.mask = axial(Grid{128, 128}), .head_dim = 64, .target = "sm_90a"});
  attend.prepare({.heads = 16, .query_length = 16384, .key_length = 16384});
  CHECK(
      refusal([&] { attend.cubin(); }) ==
      "error: the plan is a chain of 2 passes, each of which has a cubin; note: ask for sass(), or set query_tile and "
      "key_tile for a plan of one pass");
}

TEST_CASE("texts before there is anything to tell") {
  const Attention attend(small());
  const std::string nothing = "error: nothing was prepared or called yet; note: call prepare(shapes) first";
  CHECK(refusal([&] { attend.explain(); }) == nothing);
  CHECK(refusal([&] { attend.explain_json(); }) == nothing);
  CHECK(refusal([&] { attend.ir(ir::Stage::tiled); }) == nothing);
  CHECK(refusal([&] { attend.llvm_ir(); }) == nothing);
  CHECK(refusal([&] { attend.ptx(); }) == nothing);
  CHECK(refusal([&] { attend.cubin(); }) == nothing);
  CHECK(refusal([&] { attend.sass(); }) == nothing);
}
