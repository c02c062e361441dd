// Every kernel of the library as the assembler sees it, without a GPU: no spills where the predicate is short, no more
// registers than a launch of so many threads has, tensor copies and warpgroup products in the PTX, and no advisory that
// one of them was given up.
#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <tessera/backend/compile.h>
#include <tessera/library/check_call.h>
#include <tessera/library/choose_tile.h>
#include <tessera/library/merge.h>
#include <tessera/library/planned.h>
#include <tessera/library/registry.h>

#include "support/ptxas.h"

using namespace tessera;
using namespace tessera::test;

namespace {

constexpr std::int64_t kLength = 4096;
constexpr int kLaunchRegisters = 168;  // what 384 threads can have of 65536 each, in units of 8

// One program of the library, with all the names that ask for it.
struct Kernel {
  std::string names;
  std::shared_ptr<const library::Planned> planned;
  bool products = false;  // it multiplies matrices
  backend::Artifact artifact;
  Assembly assembly;
  std::string failure;
};

// Compiles and assembles what it is given, each distinct program once.
class Shop {
 public:
  void order(const std::string& name, std::shared_ptr<const library::Planned> planned, bool products) {
    auto [place, first] = by_text_.emplace(planned->only().text, kernels_.size());
    if (first) {
      kernels_.push_back({name, std::move(planned), products, {}, {}, {}});
    } else {
      kernels_[place->second].names += ", " + name;
    }
  }

  std::deque<Kernel>& work() {
    std::atomic<std::size_t> next{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) {
      threads.emplace_back([&] {
        for (std::size_t i = next++; i < kernels_.size(); i = next++) make(kernels_[i]);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return kernels_;
  }

 private:
  static void make(Kernel& kernel) try {
    const backend::Target& target = backend::target_named("sm_90a");
    const ir::Kernel& tiled = kernel.planned->only().tiled;
    kernel.artifact = backend::compile(tiled, target, backend::resolve({}, tiled, target)).artifact;
    kernel.assembly = assemble(kernel.artifact.ptx, target.name);
  } catch (const std::exception& error) {
    kernel.failure = error.what();
  }

  std::deque<Kernel> kernels_;
  std::map<std::string, std::size_t> by_text_;
};

struct Variant {
  bool lse = true;
  bool key_lengths = false;
  Scores scores = {};
};

void order(Shop& shop, const std::string& name, const Mask& mask, DType dtype, int dim, const Variant& variant) {
  const AttentionOptions options =
      library::resolve({.mask = mask, .scores = variant.scores, .dtype = dtype, .head_dim = dim}, SourceLoc::here());
  library::PlanInput input;
  input.shapes = {.batch = 2,
                  .heads = 4,
                  .kv_heads = 2,
                  .query_length = kLength,
                  .key_length = kLength,
                  .lse = variant.lse,
                  .key_lengths = variant.key_lengths};
  for (const mask::LengthRule& rule : mask.predicate().lengths) {
    if (rule.queries.most < INT64_MAX) input.shapes.query_length = rule.queries.most;
    if (rule.keys.most < INT64_MAX) input.shapes.key_length = rule.keys.most;
  }
  const auto program = library::trace_attention(options, variant.lse, variant.key_lengths);
  input.tile = library::choose_tile({}, program, backend::target_named("sm_90a"));
  shop.order(fmt::format("{} {} d{}", name, name_of(dtype), dim), library::make_planned(program, input), true);
}

void order_all_types(Shop& shop, const std::string& name, const Mask& mask, const Variant& variant) {
  for (DType dtype : {f16, bf16}) {
    for (int dim : {64, 128}) order(shop, name, mask, dtype, dim, variant);
  }
}

using Parameters = std::map<std::string, std::string>;

Mask made(const std::string& name, const Parameters& parameters) { return make_mask(pattern_named(name), parameters); }

// Patterns whose predicates are short.
std::vector<std::pair<std::string, Mask>> masks() {
  std::vector<std::pair<std::string, Mask>> all;
  for (const char* name : {"full", "causal", "window", "sinks"}) all.emplace_back(name, made(name, {}));
  all.emplace_back("prefix", made("prefix", {{"length", "100"}}));
  all.emplace_back("block-diagonal", made("block-diagonal", {{"size", "512"}}));
  all.emplace_back("documents", made("documents", {{"lengths", "1000,96,3000"}}));
  return all;
}

// The others, with arguments where there is no default.
std::vector<std::pair<std::string, Mask>> long_masks() {
  const Parameters frames{{"frames", "8"}, {"tokens-per-frame", "500"}};
  const auto with = [&](const char* width) {
    Parameters parameters = frames;
    parameters["width"] = width;
    return parameters;
  };
  const std::map<std::string, Parameters> given = {
      {"padding", {{"lengths", "9,4000"}}},
      {"per-head", {{"kinds", "0,1,1,0"}}},
      {"ring", {{"tokens", "8192"}, {"zigzag", "true"}, {"query-rank", "1"}}},
      {"blocked", {{"size", "100"}}},
      {"block-causal", {{"size", "100"}}},
      {"block-diffusion", {{"length", "2048"}, {"size", "100"}}},
      {"dilated-window", {{"width", "60"}, {"dilation", "3"}}},
      {"strided", {{"stride", "48"}}},
      {"shared-prefix", {{"lengths", "1000,96,3000"}, {"prefix", "-1,0,0"}}},
      {"image-intervals", {{"keys-per-image", "2048"}, {"first", "0,900"}, {"end", "900,4096"}}},
      {"neighborhood", {{"grid", "15,24,20"}, {"window", "5,7,8"}, {"stride", "1,2,4"}, {"dilation", "3,1,1"}}},
      {"swin", {{"grid", "112,112"}, {"shift", "3"}}},
      {"halo", {{"grid", "70,60"}}},
      {"axial", {{"grid", "70,60"}}},
      {"spatial", {{"grid", "15,20,14"}}},
      {"temporal", {{"grid", "15,20,14"}}},
      {"sliding-tiles", {{"grid", "15,20,14"}, {"tile", "3,4,4"}, {"window", "3"}}},
      {"radial", frames},
      {"spatial-head", with("1.5")},
      {"temporal-head", with("1.5")}};
  const std::set<std::string> apart{"full",           "causal",    "window", "sinks", "prefix",
                                    "block-diagonal", "documents", "tree"};  // a tree of 4096 nodes is a table of 16 M
  std::vector<std::pair<std::string, Mask>> all;
  for (const Pattern& pattern : patterns()) {
    if (apart.count(pattern.name) != 0) continue;
    const auto parameters = given.find(pattern.name);
    all.emplace_back(pattern.name, make_mask(pattern, parameters == given.end() ? Parameters{} : parameters->second));
  }
  return all;
}

void check_kernel(const Kernel& kernel, int registers) {
  INFO(kernel.names);
  INFO(kernel.failure);
  REQUIRE(kernel.failure.empty());
  INFO(kernel.assembly.log);
  REQUIRE(kernel.assembly.ok);
  CHECK(kernel.assembly.spill_bytes == 0);
  CHECK(kernel.assembly.warnings == std::vector<std::string>{});
  CHECK(kernel.assembly.registers <= registers);
  CHECK((count(kernel.artifact.ptx, "wgmma.mma_async") > 0) == kernel.products);
  CHECK((count(kernel.artifact.ptx, "cp.async.bulk.tensor") > 0) == kernel.products);
}

}  // namespace

TEST_CASE("every pattern, with and without LSE, key lengths and scores") {
  Shop shop;
  for (const auto& [name, mask] : masks()) {
    order_all_types(shop, name, mask, {});
    order_all_types(shop, name + " without LSE", mask, {.lse = false});
  }
  order_all_types(shop, "documents, causal, key lengths", causal & documents(document_ids({1000, 96, 3000})),
                  {.key_lengths = true});
  order_all_types(shop, "full, key lengths", full, {.key_lengths = true});
  const std::vector<std::pair<const char*, Score>> scores = {
      {"softcap", softcap(30)}, {"alibi", alibi(4)}, {"dense_bias", dense_bias()}};
  for (const auto& [name, score] : scores) {
    for (int dim : {64, 128}) order(shop, name, causal, dim == 64 ? f16 : bf16, dim, {.scores = {score}});
  }
  int seen = 0;
  for (const Kernel& kernel : shop.work()) {
    check_kernel(kernel, kLaunchRegisters);
    ++seen;
  }
  CHECK(seen > 20);
}

// Beside an accumulator of 256 columns, some scalars of a program that reads tables or divides do not find a register:
// they are stored when a program starts, and loaded when it ends.
TEST_CASE("other widths") {
  Shop shop;
  for (const auto& [name, mask] : masks()) {
    order(shop, name, mask, bf16, 96, {});
    if (name != "documents" && name != "block-diagonal") order(shop, name, mask, bf16, 256, {});
  }
  for (const Kernel& kernel : shop.work()) check_kernel(kernel, kLaunchRegisters);
}

// Grids divide by constants and tables are read: some of that does not find a register beside the accumulators.
TEST_CASE("every pattern of the catalogue assembles") {
  constexpr int kSpilled = 600;  // bytes a thread; the worst, swin, spills 564
  Shop shop;
  for (const auto& [name, mask] : long_masks()) order(shop, name, mask, bf16, 128, {});
  for (const Kernel& kernel : shop.work()) {
    INFO(kernel.names);
    INFO(kernel.failure);
    REQUIRE(kernel.failure.empty());
    INFO(kernel.assembly.log);
    REQUIRE(kernel.assembly.ok);
    CHECK(kernel.assembly.warnings == std::vector<std::string>{});
    CHECK(kernel.assembly.spill_bytes <= kSpilled);
    CHECK(kernel.assembly.registers <= kLaunchRegisters);
  }
}

TEST_CASE("merge") {
  Shop shop;
  for (int dim : {64, 128}) {
    passes::Tiling tiling;
    tiling.tiles = {{ir::Axis::named("Query"), 16}};
    tiling.whole = {{ir::Axis::named("Value"), dim}};
    const auto add = [&](const std::string& name, Traced traced) {
      const auto program = library::plannable(std::move(traced), tiling);
      shop.order(fmt::format("{} d{}", name, dim), library::make_planned(program, {}), false);
    };
    for (int count : {2, 3, kMergedAtOnce}) {
      add(fmt::format("{} of f16", count), merge_program.trace<f16, f16>(count, 0));
      add(fmt::format("{} of bf16", count), merge_program.trace<bf16, bf16>(count, 0));
      add(fmt::format("{} of f32", count), merge_program.trace<f32, f32>(count, 0));
      add(fmt::format("{} of bf16 and f32", count), merge_program.trace<bf16, f32>(count, 1));
    }
  }
  // Of 128 threads a block: eight and four blocks a multiprocessor, to have enough loads in flight.
  for (const Kernel& kernel : shop.work()) check_kernel(kernel, kernel.names.ends_with("d64") ? 64 : 128);
}
