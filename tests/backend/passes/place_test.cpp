#include <doctest/doctest.h>

#include <tessera/backend/compile.h>
#include <tessera/dsl/ir/interpret.h>
#include <tessera/dsl/ir/print.h>
#include <tessera/dsl/ir/verify.h>

#include <random>

#include "backend/tiled_kernels.h"

using namespace tessera;
using namespace tessera::ir;

namespace {

const backend::Target& hopper() { return backend::target_named("sm_90a"); }

struct Array {
  DType dtype;
  std::vector<std::int64_t> shape;
  std::vector<float> storage;  // large enough for any dtype
  View view() { return View::contiguous(storage.data(), dtype, shape); }
};

Array random_array(DType dtype, std::vector<std::int64_t> shape, unsigned seed) {
  Array a{dtype, std::move(shape), {}};
  const std::int64_t n = View::contiguous(nullptr, dtype, a.shape).elements();
  a.storage.assign(static_cast<std::size_t>(n), 0);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < n; ++i) store_element(a.storage.data(), dtype, i, normal(random));
  return a;
}

// Outputs of the tiled kernel and of the placed one, element by element.
void check_same(const Kernel& tiled, std::vector<Array> arrays, double tolerance) {
  const Kernel placed = backend::place(tiled, hopper(), {});
  REQUIRE(legal(placed, Stage::placed) == "");
  std::vector<Array> again = arrays;
  const auto run = [](const Kernel& kernel, std::vector<Array>& data) {
    std::vector<Argument> arguments;
    for (Array& a : data) arguments.push_back(a.view());
    interpret(kernel, bind(kernel, arguments));
  };
  run(tiled, arrays);
  run(placed, again);
  for (std::size_t p = 0; p < arrays.size(); ++p)
    for (std::int64_t i = 0; i < arrays[p].view().elements(); ++i) {
      const float a = load_element(arrays[p].storage.data(), arrays[p].dtype, i);
      const float b = load_element(again[p].storage.data(), again[p].dtype, i);
      if (a == b) continue;  // infinities too
      REQUIRE(std::abs(a - b) <= tolerance * (1 + std::abs(a)));
    }
}

int count(const std::string& text, const std::string& what) {
  int n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("a placed matrix product computes what the tiled one does") {
  check_same(test::tiled_matmul(),
             {random_array(DType::bf16, {200, 170}, 1), random_array(DType::bf16, {170, 72}, 2),
              random_array(DType::f32, {200, 72}, 3)},
             1e-5);
}

TEST_CASE("placed attention computes what the tiled one does, at tails and with grouped heads") {
  for (std::int64_t keys : {0, 1, 63, 64, 200})
    for (std::int64_t queries : {1, 100, 130}) {
      CAPTURE(keys);
      CAPTURE(queries);
      check_same(test::tiled_attention(),
                 {random_array(DType::bf16, {2, 4, queries, 64}, 1), random_array(DType::bf16, {2, 2, keys, 64}, 2),
                  random_array(DType::bf16, {2, 2, keys, 64}, 3), random_array(DType::bf16, {2, 4, queries, 64}, 4),
                  random_array(DType::f32, {2, 4, queries}, 5)},
                 1e-2);
    }
}

TEST_CASE("a kernel without products keeps one program") {
  const Kernel placed = backend::place(test::tiled_rows(), hopper(), {});
  CHECK(placed.roles.empty());
  CHECK(placed.threads == 128);
  check_same(test::tiled_rows(), {random_array(DType::f32, {3, 50, 64}, 1), random_array(DType::f32, {3, 50, 64}, 2)},
             1e-6);
}

TEST_CASE("a producer copies and waits for empty slots; consumers wait, multiply and release") {
  const Kernel placed = backend::place(test::tiled_attention(), hopper(), {});
  REQUIRE(placed.roles.size() == 2);
  CHECK(placed.roles[1].warpgroups == 2);
  CHECK(placed.threads == 384);
  const std::string text = print(placed);
  const std::size_t split = text.find("role @1", text.find("role @0 {"));
  const std::string producer = text.substr(0, split), consumer = text.substr(split);
  CHECK(count(producer, "copy ") == 5);  // Q, and K and V in both loops
  CHECK(count(producer, "mma") == 0);
  CHECK(count(producer, "wait 1 ") == 5);
  CHECK(count(consumer, "copy ") == 0);
  CHECK(count(consumer, "arrive ") == 1 + 2 * (1 + 2) + 1);  // of both loops the first product apart, and a last one
}

TEST_CASE("what does not fit in shared memory is refused with both numbers") {
  CHECK_THROWS_WITH_AS(backend::place(test::tiled_attention({64, 256, 256, 136}), hopper(), {}),
                       doctest::Contains("bytes of shared memory, sm_90a has 232448"), UserError);
  CHECK_THROWS_WITH_AS(
      backend::place(test::tiled_attention({192, 64, 256, 256}), hopper(), {}),
      doctest::Contains("needs about 192 registers a thread, and 3 warpgroups of sm_90a have 160 each"), UserError);
  CHECK_THROWS_WITH_AS(backend::place(test::tiled_attention({96, 64, 64, 64}), hopper(), {}),
                       doctest::Contains("axis Query has a tile of 96 rows"), UserError);
}

TEST_CASE("extents that no matrix instruction has are refused with one that has") {
  CHECK_THROWS_WITH_AS(backend::place(test::tiled_attention({128, 72, 64, 64}), hopper(), {}),
                       doctest::Contains("dot over axis Key, which has a tile of 72; note: matrix products contract a "
                                         "multiple of 16: choose a tile of 80"),
                       UserError);
  CHECK_THROWS_WITH_AS(backend::place(test::tiled_attention({64, 16, 64, 264}), hopper(), {}),
                       doctest::Contains("dot whose result has a tile of 264 along axis Value"), UserError);
}
