#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "dsl/ir/interpret_kernels.h"
#include "dsl/ir/interpret_support.h"

using namespace tessera;
using namespace tessera::ir;
using namespace tessera::ir::test;

namespace {

char memory[64];  // never read: bind looks at shapes only

View view(std::vector<std::int64_t> shape, DType dtype = DType::bf16) {
  return View::contiguous(memory, dtype, std::move(shape));
}

// A call of the forward kernel with something changed.
struct Call {
  View q = view({2, 8, 100, 64}), k = view({2, 4, 70, 64}), v = view({2, 4, 70, 32}), o = view({2, 8, 100, 32}),
       lse = view({2, 8, 100}, DType::f32);
  Argument scale = 0.125;
  std::vector<Argument> arguments() const { return {q, k, v, o, lse, scale}; }
};

Kernel forward() { return traced_attention({.dtype = DType::bf16}); }

std::string refusal(const std::function<void(Call&)>& change, const Kernel& kernel = forward()) {
  Call call;
  change(call);
  try {
    ir::bind(kernel, call.arguments());
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

Kernel table_kernel() {
  Kernel kernel;
  kernel.name = "lookup";
  kernel.params = {{"ids", ParamKind::table, DType::i32, {}, 2}, {"left", ParamKind::scalar, DType::i32, {}, 0}};
  return kernel;
}

std::string table_refusal(Argument table, Argument left) {
  try {
    ir::bind(table_kernel(), {std::move(table), std::move(left)});
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("lengths and groups of a call") {
  const Kernel kernel = forward();
  CHECK(outer_axes(kernel) == std::vector<Axis>{axis("Batch"), axis("Head")});
  const Binding binding = ir::bind(kernel, Call{}.arguments());
  CHECK(binding.length(axis("Query")) == 100);
  CHECK(binding.length(axis("Key")) == 70);
  CHECK(binding.length(axis("Depth")) == 64);
  CHECK(binding.length(axis("Value")) == 32);
  CHECK(binding.length(axis("Head")) == 8);
  CHECK(binding.length(axis("Batch")) == 2);
  CHECK(binding.groups[0] == std::vector<std::int64_t>{1, 1});
  CHECK(binding.groups[1] == std::vector<std::int64_t>{1, 2});
  CHECK(binding.groups[3] == std::vector<std::int64_t>{1, 1});
  CHECK_THROWS_AS(binding.length(axis("Nothing")), InternalError);

  Kernel tiled = kernel;
  tiled.grid_tiles = {{axis("Query"), 64}, {axis("Head"), 1}, {axis("Batch"), 1}};
  CHECK(binding.tiles(tiled, 0) == 2);
  CHECK(binding.tiles(tiled, 1) == 8);
}

TEST_CASE("leading dimensions may be left out, and extent 1 is shared by all") {
  Call call;
  call.k = view({70, 64});
  call.v = view({1, 70, 32});
  const Binding binding = ir::bind(forward(), call.arguments());
  const View& k = std::get<View>(binding.arguments[1]);
  CHECK(k.shape == std::vector<std::int64_t>{1, 1, 70, 64});
  CHECK(k.strides == std::vector<std::int64_t>{0, 0, 64, 1});
  CHECK(binding.groups[1] == std::vector<std::int64_t>{2, 8});
}

TEST_CASE("no tokens, no heads, no data: all legal") {
  Call none;
  none.q = view({2, 8, 0, 64});
  none.o = view({2, 8, 0, 32});
  none.lse = view({2, 8, 0}, DType::f32);
  none.q.data = nullptr;
  CHECK(ir::bind(forward(), none.arguments()).length(axis("Query")) == 0);
  Call keys;
  keys.k = view({2, 4, 0, 64});
  keys.v = view({2, 4, 0, 32});
  CHECK(ir::bind(forward(), keys.arguments()).length(axis("Key")) == 0);
  Call batch;
  batch.q = view({0, 8, 100, 64});
  batch.k = view({0, 4, 70, 64});
  batch.v = view({0, 4, 70, 32});
  batch.o = view({0, 8, 100, 32});
  batch.lse = view({0, 8, 100}, DType::f32);
  CHECK(ir::bind(forward(), batch.arguments()).length(axis("Batch")) == 0);
}

TEST_CASE("what cannot be bound is refused with the numbers and the remedy") {
  CHECK(refusal([](Call&) {}) == "accepted");
  CHECK(refusal([](Call& c) { c.q.dtype = DType::f32; }) ==
        "error: 'q' is bf16 in this kernel, got f32; note: convert it to bf16, or build the kernel for f32");
  CHECK(refusal([](Call& c) { c.q = view({100, 64, 1, 1, 1}); }) ==
        "error: 'q' has 5 dimensions, this kernel takes 2 to 4: [Batch, Head, Query, Depth]; note: reshape it; only "
        "leading "
        "dimensions may be left out");
  CHECK(
      refusal([](Call& c) { c.k = view({64}); }) ==
      "error: 'k' has 1 dimension, this kernel takes 2 to 4: [Batch, Head, Key, Depth]; note: reshape it; only leading "
      "dimensions may be left out");
  CHECK(refusal([](Call& c) { c.v = view({2, 4, 71, 32}); }) ==
        "error: axis Key is 70 in 'k' but 71 in 'v'; note: tensors must agree on the length of an axis they share");
  CHECK(refusal([](Call& c) { c.k = view({2, 3, 70, 64}); }) ==
        "error: 'k' has extent 3 along Head, which does not divide the 8 of 'q'; note: make 8 a multiple of k's "
        "extent: each index "
        "there is shared by a group of equal size");
  CHECK(refusal([](Call& c) {
          c.k = view({2, 0, 70, 64});
        }).find("'k' has extent 0 along Head, which does not divide the 8 of 'q'") != std::string::npos);
  CHECK(refusal([](Call& c) { c.o = view({2, 4, 100, 32}); }) ==
        "error: output 'o' has extent 4 along Head, 'q' has 8; note: give the output extent 8 there");
  CHECK(refusal([](Call& c) { c.o.strides[1] = 0; }) ==
        "error: output 'o' has stride 0 along Head, where it has extent 8; note: every element of an output needs "
        "memory of its own");
  CHECK(refusal([](Call& c) { c.lse.strides[2] = 0; }).find("output 'lse' has stride 0 along Query") !=
        std::string::npos);
  CHECK(refusal([](Call& c) { c.q.strides.pop_back(); }) ==
        "error: 'q' has 4 dimensions but 3 strides; note: give one stride a dimension, in elements");
  CHECK(refusal([](Call& c) { c.v.data = nullptr; }) ==
        "error: 'v' is a null pointer, but has 17920 elements; note: pass the address of its first element");
  CHECK(refusal([](Call& c) { c.q.shape[2] = -1; }) ==
        "error: 'q' has extent -1 in dimension 2; note: extents lie between 0 and 2147483647: positions are 32-bit");
  CHECK(refusal([](Call& c) { c.scale = view({1}); }) ==
        "error: 'scale' is a scalar, got a tensor; note: pass a number");
}

TEST_CASE("whole axes must be what the kernel was tiled for") {
  Kernel tiled = forward();
  tiled.stage = Stage::tiled;
  tiled.whole = {{axis("Depth"), 128}};
  CHECK(refusal([](Call&) {}, tiled) ==
        "error: axis Depth is 64 in 'q', this kernel was built for 128; note: build the kernel for Depth 64");
  tiled.whole = {{axis("Depth"), 64}};
  CHECK(refusal([](Call&) {}, tiled) == "accepted");
}

TEST_CASE("a wrong number of arguments lists the parameters") {
  Call call;
  std::vector<Argument> arguments = call.arguments();
  arguments.pop_back();
  CHECK_THROWS_WITH_AS(
      ir::bind(forward(), arguments),
      "error: kernel 'forward' takes 6 arguments, got 5; note: pass, in this order: q, k, v, o, lse, scale", UserError);
  arguments = call.arguments();
  arguments[0] = 1.0;
  CHECK_THROWS_WITH_AS(ir::bind(forward(), arguments),
                       "error: 'q' is a tensor, got a number; note: pass a view of an array", UserError);
}

TEST_CASE("tables and scalars") {
  CHECK(table_refusal(view({3, 4}, DType::i32), 7.0) == "accepted");
  CHECK(table_refusal(View::contiguous(nullptr, DType::i32, {0, 4}), -7.0) == "accepted");
  CHECK(table_refusal(view({12}, DType::i32), 7.0) ==
        "error: table 'ids' has 2 dimensions, got 1; note: pass an array of the rank that the kernel indexes");
  View strided = view({3, 4}, DType::i32);
  strided.strides = {8, 2};
  CHECK(table_refusal(strided, 7.0) ==
        "error: table 'ids' has stride 8 in dimension 0, contiguous would be 4; note: pass a contiguous copy");
  CHECK(table_refusal(1.0, 7.0) == "error: 'ids' is a table, got a number; note: pass a view of an array");
  CHECK(table_refusal(view({3, 4}, DType::i32), 1.5) ==
        "error: 'left' is an i32 scalar, got 1.5; note: pass a whole number that fits 32 bits");
  CHECK(table_refusal(view({3, 4}, DType::i32), 0x1p31).find("got 2147483648") != std::string::npos);
  CHECK(table_refusal(view({3, 4}, DType::i32), -0x1p31) == "accepted");
}

TEST_CASE("the interpreter reads host memory only") {
  Call call;
  call.k.memory = Memory::device;
  const Kernel kernel = forward();
  const Binding binding = ir::bind(kernel, call.arguments());
  CHECK_THROWS_WITH_AS(
      interpret(kernel, binding),
      "error: 'k' lies in device memory, the interpreter reads host memory; note: copy it to the host, or run the "
      "kernel on the device",
      UserError);
}
