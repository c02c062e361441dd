#include <doctest/doctest.h>

#include <chrono>

#include "dsl/ir/interpret_kernels.h"
#include "dsl/ir/interpret_support.h"

using namespace tessera;
using namespace tessera::ir;
using namespace tessera::ir::test;

namespace {

struct Shape {
  std::int64_t queries, keys, heads = 1, kv_heads = 1, batch = 1, depth = 16, columns = 24;
};

struct Call {
  Call(DType dtype, const Shape& s, bool token_major = false)
      : q(dtype, s.batch, s.heads, s.queries, s.depth, token_major),
        k(dtype, s.batch, s.kv_heads, s.keys, s.depth, token_major),
        v(dtype, s.batch, s.kv_heads, s.keys, s.columns, token_major),
        o(dtype, s.batch, s.heads, s.queries, s.columns, token_major),
        lse(DType::f32, s.batch, s.heads, s.queries, 1) {
    q.randomise(11);
    k.randomise(12);
    v.randomise(13);
  }
  std::vector<Argument> arguments() { return {q.view(), k.view(), v.view(), o.view(), lse.rows(), 0.25}; }
  void run(const Kernel& kernel, InterpretOptions options = {}, std::vector<Argument> more = {}) {
    std::vector<Argument> all = arguments();
    all.insert(all.end(), more.begin(), more.end());
    interpret(kernel, ir::bind(kernel, std::move(all)), options);
  }
  void check(double tolerance, const std::function<bool(int, int, int, int)>& live) {
    const Errors errors = attention_errors(q, k, v, o, lse, 0.25, live);
    CHECK(errors.output <= tolerance);
    CHECK(errors.lse <= 1e-4);
    CHECK(errors.empty_rows_right);
    CHECK(o.outside_untouched());
    CHECK(lse.outside_untouched());
  }
  Tensor q, k, v, o, lse;
};

bool always(int, int, int, int) { return true; }

// k <= q + key_length - query_length
Value bottom_right(Builder& b, std::span<const Value> p) {
  const Value last = b.sub(b.add(p[Function::q], p[Function::key_length]), p[Function::query_length]);
  return b.binary(OpCode::le, p[Function::k], last);
}

}  // namespace

TEST_CASE("attention over every kind of tail, whatever the tile") {
  const Kernel kernel = traced_attention({});
  for (std::int64_t queries : {0, 1, 63, 64, 65}) {
    for (std::int64_t keys : {0, 1, 63, 64, 65, 130}) {
      for (int tile : {1, 7, 64, 200}) {
        if (tile == 1 && queries * keys > 1000) continue;
        CAPTURE(queries);
        CAPTURE(keys);
        CAPTURE(tile);
        Call call(DType::f32, {queries, keys});
        call.run(kernel, {.threads = 2, .traced_tile = tile});
        call.check(1e-5, always);
      }
    }
  }
}

TEST_CASE("groups of query heads share a key head, in any memory order") {
  const Kernel kernel = traced_attention({});
  for (std::int64_t kv_heads : {1, 2, 6}) {
    for (bool token_major : {false, true}) {
      CAPTURE(kv_heads);
      Call call(DType::f32, {70, 90, 6, kv_heads, 2}, token_major);
      call.run(kernel);
      call.check(1e-5, always);
    }
  }
}

TEST_CASE("masks see positions and lengths; rows without keys are 0 and -inf") {
  const Kernel causal = traced_attention({.mask = bottom_right});
  for (const auto& [queries, keys] : {std::pair{96, 32}, {130, 257}, {257, 130}, {5, 2}, {2, 5}}) {
    for (int tile : {16, 64}) {
      CAPTURE(queries);
      CAPTURE(keys);
      Call call(DType::f32, {queries, keys, 2});
      call.run(causal, {.traced_tile = tile});
      call.check(1e-5, [q = queries, k = keys](int, int, int i, int j) { return j <= i + k - q; });
    }
  }
  const Kernel heads = traced_attention({.mask = [](Builder& b, std::span<const Value> p) {
    const Value key = b.add(b.add(p[Function::k], p[Function::head]), b.mul(p[Function::batch], 2));
    return b.binary(OpCode::eq, b.binary(OpCode::mod, key, b.constant(3)), b.constant(0));
  }});
  Call call(DType::f32, {20, 70, 3, 1, 2});
  call.run(heads);
  call.check(1e-5, [](int b, int h, int, int j) { return (j + h + 2 * b) % 3 == 0; });
}

TEST_CASE("a bound on the keys keeps what lies past it out, NaN or not, and moves no mask") {
  const Kernel kernel = traced_attention({.mask = bottom_right, .bounded = true});
  for (int bound : {-3, 0, 1, 40, 64, 100, 1000}) {
    CAPTURE(bound);
    Call call(DType::f32, {50, 100});
    const int length = std::clamp(bound, 0, 100);
    for (int j = length; j < 100; ++j) {
      for (int c = 0; c < 16; ++c) call.k.set(0, 0, j, c, std::nanf(""));
      for (int c = 0; c < 24; ++c) call.v.set(0, 0, j, c, std::nanf(""));
    }
    call.run(kernel, {}, {static_cast<double>(bound)});
    call.check(1e-5, [length](int, int, int i, int j) { return j < length && j <= i + 100 - 50; });
  }
}

TEST_CASE("16-bit attention is as exact as its storage") {
  for (const auto& [dtype, tolerance] : {std::pair{DType::f16, 1e-3}, {DType::bf16, 8e-3}}) {
    Call call(dtype, {100, 150, 2, 1, 1, 32, 32});
    call.run(traced_attention({.dtype = dtype}));
    call.check(tolerance, always);
  }
}

TEST_CASE("results do not depend on the number of threads, to the bit") {
  const Kernel kernel = traced_attention({.dtype = DType::bf16, .mask = bottom_right});
  std::vector<std::vector<char>> outputs;
  for (int threads : {1, 2, 5, 64}) {
    Call call(DType::bf16, {300, 200, 4, 2, 2});
    call.run(kernel, {.threads = threads});
    outputs.push_back(call.o.bytes());
    CHECK(outputs.back() == outputs.front());
  }
}

TEST_CASE("attention over 4096 tokens" * doctest::skip()) {
  Call call(DType::bf16, {4096, 4096, 8, 8, 1, 64, 64});
  const Kernel kernel = traced_attention({.dtype = DType::bf16, .mask = [](Builder& b, std::span<const Value> p) {
                                            return b.binary(OpCode::ge, p[Function::k], b.constant(0));
                                          }});
  const auto start = std::chrono::steady_clock::now();
  call.run(kernel);
  MESSAGE(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() << " s");
}
