// What an Attention says about itself: counts of the geometry, one kernel for many lengths, the texts of each stage.
#include <chrono>
#include <cstdint>
#include <set>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <tessera/library/attention.h>
#include <tessera/library/devices.h>

using namespace tessera;
using nlohmann::json;

namespace {

Attention small(Mask mask) {
  return Attention({.mask = std::move(mask), .head_dim = 64, .query_tile = 128, .key_tile = 128});
}

}  // namespace

TEST_CASE("a hundred lengths and any widths are one kernel (B41, B75)") {
  constexpr std::int64_t kTokens = 24, kDim = 72;  // of no other test: what this process has compiled does not count
  Attention attend({.mask = window(Param<i32>{"left", 100}, Param<i32>{"right", 0}),
                    .head_dim = kDim,
                    .query_tile = 128,
                    .key_tile = 128});
  std::set<std::string> kernels;
  for (int n = 1; n <= 100; ++n) {
    attend.prepare({.heads = 4, .query_length = 37 * n, .key_length = 41 * n});
    kernels.insert(attend.ir(ir::Stage::tiled));
  }
  std::vector<std::uint16_t> memory(4 * kTokens * kDim);
  const auto tensor = [&](int i) {
    return View::contiguous(&memory[static_cast<std::size_t>(i * kTokens * kDim)], bf16, {1, 1, kTokens, kDim});
  };
  for (double left : {0, 1, 7, 23, 100, 1 << 20}) {
    for (double right : {0, 3, 1 << 20}) {
      attend({.q = tensor(0),
              .k = tensor(1),
              .v = tensor(2),
              .o = tensor(3),
              .params = {{"left", left}, {"right", right}}});
      kernels.insert(attend.ir(ir::Stage::tiled));
      CHECK(json::parse(attend.explain_json()).at("compiles") == 1);
    }
  }
  CHECK(kernels.size() == 1);
}

TEST_CASE("masks that need a list are one kernel for all lengths, too") {
  std::set<std::string> kernels;
  for (int n : {100, 200, 1000}) {
    Attention attend = small(documents(document_ids({n / 2, n - n / 2})));
    attend.prepare({.query_length = n, .key_length = n});
    kernels.insert(attend.ir(ir::Stage::tiled));
  }
  CHECK(kernels.size() == 1);
}

TEST_CASE("explain counts tiles, and no more than there are (B29)") {
  Attention attend = small(causal);
  attend.prepare({.batch = 2, .heads = 3, .query_length = 100, .key_length = 100});
  json e = json::parse(attend.explain_json());
  CHECK(e.at("tiles").at("total") == 6);
  CHECK(e.at("tiles").at("visited") == 6);
  CHECK(e.at("tiles").at("partial") == 6);
  CHECK(e.at("skipped") == 0);
  attend.prepare({.query_length = 1024, .key_length = 1024});
  e = json::parse(attend.explain_json());
  CHECK(e.at("tiles").at("total") == 64);
  CHECK(e.at("tiles").at("visited") == 36);
  CHECK(e.at("tiles").at("full") == 28);
  CHECK(e.at("skipped").get<double>() == doctest::Approx(28.0 / 64));
  CHECK(e.at("compiles").get<int>() <= 1);
  CHECK(attend.explain().find("36 of 64 visited (28 full, 8 partial)") != std::string::npos);
}

TEST_CASE("each stage has its text, and a list says why it is one") {
  Attention attend = small(documents(document_ids({300, 212})));
  attend.prepare({.query_length = 512, .key_length = 512});
  CHECK(attend.ir(ir::Stage::traced).find("kernel forward traced") == 0);
  CHECK(attend.ir(ir::Stage::tiled).find("kernel forward tiled") == 0);
  CHECK(attend.ir(ir::Stage::placed).find("kernel forward placed") == 0);
  CHECK(attend.llvm_ir().find("define ") != std::string::npos);
  std::string ptx = attend.ptx();
  CHECK(ptx.find(".visible .entry") != std::string::npos);
  CHECK(ptx.find("wgmma.mma_async") != std::string::npos);
  CHECK(ptx.find("cp.async.bulk.tensor") != std::string::npos);
  json e = json::parse(attend.explain_json());
  CHECK(e.at("passes").at(0).at("sources").at(0).at("schedule") == "list");
  CHECK(e.at("list_reason").get<std::string>().find("document") != std::string::npos);
}

TEST_CASE("planning a window over a million tokens touches tiles, not pairs (B35)") {
  Attention attend = small(window(4095, 0));
  auto start = std::chrono::steady_clock::now();
  attend.prepare({.query_length = 1 << 20, .key_length = 1 << 20});
  double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (!library::default_device()) CHECK(ms < 1000);  // 8192 rows of tiles; 67 million tiles would take longer
}
