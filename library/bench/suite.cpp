// The suites, row by row.
#include <tessera/library/bench/workload.h>

#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::bench {

namespace {

constexpr std::int64_t k1 = 1024, k4 = 4096, k8 = 8192, k16 = 16384, k32 = 32768;

// Twelve documents of a sequence of 16384 tokens.
const std::vector<std::int64_t> kDocuments = {411, 2968, 1207, 96, 1843, 3155, 702, 1389, 253, 2026, 878, 1456};

// Each is measured dense, which gives the time per tile of its dims, and causal.
std::vector<Workload> dense_and_causal() {
  return {
      {"dense_n4k_d64", 4, 32, 32, k4, 64, 64, all_keys()},
      {"dense_n16k_d64", 1, 32, 32, k16, 64, 64, all_keys()},
      {"dense_n16k_d96", 1, 16, 16, k16, 96, 96, all_keys()},
      {"dense_n4k_d128", 4, 16, 16, k4, 128, 128, all_keys()},
      {"dense_n16k_d128", 1, 16, 16, k16, 128, 128, all_keys()},
      {"dense_n16k_d192x128", 1, 16, 16, k16, 192, 128, all_keys()},
      {"dense_n4k_d256", 4, 8, 8, k4, 256, 256, all_keys()},
      {"dense_n16k_d256", 1, 8, 8, k16, 256, 256, all_keys()},
      {"causal_n4k_d64", 4, 32, 32, k4, 64, 64, causal_keys()},
      {"causal_n16k_d64", 1, 32, 32, k16, 64, 64, causal_keys()},
      {"causal_n16k_d96", 1, 16, 16, k16, 96, 96, causal_keys()},
      {"causal_n4k_d128", 4, 16, 16, k4, 128, 128, causal_keys()},
      {"causal_n16k_d128", 1, 16, 16, k16, 128, 128, causal_keys()},
      {"causal_n16k_d192x128", 1, 16, 16, k16, 192, 128, causal_keys()},
      {"causal_n4k_d256", 4, 8, 8, k4, 256, 256, causal_keys()},
      {"causal_n16k_d256", 1, 8, 8, k16, 256, 256, causal_keys()},
      {"causal_gqa_n16k_d128", 1, 32, 8, k16, 128, 128, causal_keys()},
  };
}

std::vector<Workload> sparse() {
  return {
      {"window256_n16k_d128", 1, 16, 16, k16, 128, 128, window_keys(256, 0)},
      {"window1k_n32k_d128", 1, 16, 16, k32, 128, 128, window_keys(1024, 0)},
      {"window4k_n32k_d128", 1, 16, 16, k32, 128, 128, window_keys(4096, 0)},
      {"biwindow512_n16k_d64", 1, 32, 32, k16, 64, 64, window_keys(512, 512)},
      {"longformer512_n16k_d64", 1, 32, 32, k16, 64, 64, longformer_keys(256, 64)},
      {"bigbird_n16k_d64", 1, 32, 32, k16, 64, 64, block_map_keys(bigbird_blocks(64, k16 / 64, 3, 2, 3, 0))},
      {"strided128_n8k_d64", 1, 32, 32, k8, 64, 64, strided_keys(128)},
      {"blockdiag1k_n16k_d128", 1, 16, 16, k16, 128, 128, diagonal_blocks(1024)},
      {"dilated4_w64_n8k_d64", 1, 32, 32, k8, 64, 64, dilated_keys(64, 4)},
      {"docs_causal_n16k_d128", 1, 16, 16, k16, 128, 128, causal_documents(kDocuments)},
      {"prefix2k_n16k_d128", 1, 16, 16, k16, 128, 128, prefix_keys(2048)},
      {"sink_window1k_n32k_d128", 1, 16, 16, k32, 128, 128, sink_keys(64, 1024)},
      // Moderate lengths and densities, as SPLAT has them.
      {"splat_window_n1k_d64", 16, 12, 12, k1, 64, 64, window_keys(128, 128)},
      {"splat_window_n4k_d64", 4, 12, 12, k4, 64, 64, window_keys(256, 256)},
      {"splat_blocked_n4k_d64", 4, 12, 12, k4, 64, 64, diagonal_blocks(512)},
      {"splat_strided_n4k_d64", 4, 12, 12, k4, 64, 64, strided_keys(64)},
      {"blocks50_n16k_d128", 1, 16, 16, k16, 128, 128, block_map_keys(random_blocks(128, k16 / 128, 0.50, 0))},
      {"blocks25_n16k_d128", 1, 16, 16, k16, 128, 128, block_map_keys(random_blocks(128, k16 / 128, 0.25, 0))},
      {"blocks10_n32k_d128", 1, 16, 16, k32, 128, 128, block_map_keys(random_blocks(128, k32 / 128, 0.10, 0))},
  };
}

// Images and videos, as GNA has them.
std::vector<Workload> in_space() {
  return {
      {"na2d_128x128_w33_d64", 1, 16, 16, 128 * 128, 64, 64, neighbourhood_keys({{128, 33, 1}, {128, 33, 1}})},
      {"gna_flux_256x256_d128", 1, 24, 24, 256 * 256, 128, 128, neighbourhood_keys({{256, 80, 16}, {256, 80, 16}})},
      {"gna_cosmos_16x44x80_d128", 1, 32, 32, 16 * 44 * 80, 128, 128,
       neighbourhood_keys({{16, 16, 1}, {44, 32, 1}, {80, 48, 1}})},
      {"gna_hunyuan_30x48x80_d128", 1, 24, 24, 30 * 48 * 80, 128, 128,
       neighbourhood_keys({{30, 18, 16}, {48, 24, 8}, {80, 24, 8}})},
      {"video_16x48x64_d64", 1, 16, 16, 16 * 48 * 64, 64, 64, video_keys(16, 48, 64, 4)},
  };
}

// Views beside the contiguous tensors of dense_and_causal: a kernel reads and writes them where they are.
std::vector<Workload> strided_views() {
  std::vector<Workload> views;
  for (const auto& [suffix, order] :
       {std::pair{"_bnhd", MemoryOrder::tokens_first}, {"_padded", MemoryOrder::padded_rows}}) {
    for (Workload view : dense_and_causal()) {
      if (view.name != "dense_n4k_d128" && view.name != "causal_n4k_d128") continue;
      view.name += suffix;
      view.order = order;
      views.push_back(std::move(view));
    }
  }
  return views;
}

// The same patterns at three lengths, to see what making their plans takes. Kernels of a million tokens run for
// seconds.
std::vector<Workload> lengths() {
  constexpr std::int64_t k128 = 131072, k1024 = 1048576;
  std::vector<Workload> all;
  for (const auto& [suffix, n, side, across, frames] :
       {std::tuple{"n16k", k16, 128, 128, 16}, {"n128k", k128, 256, 512, 32}, {"n1m", k1024, 1024, 1024, 64}}) {
    const auto add = [&, &suffix = suffix, &n = n](const char* name, int dim, MaskCase mask) {
      all.push_back({fmt::format("{}_{}_d{}", name, suffix, dim), 1, 16, 16, n, dim, dim, std::move(mask)});
    };
    add("causal", 128, causal_keys());
    add("window1k", 128, window_keys(1024, 0));
    add("sink_window1k", 128, sink_keys(64, 1024));
    add("longformer512", 64, longformer_keys(256, 64));
    add("strided128", 64, strided_keys(128));
    add("dilated4_w64", 64, dilated_keys(64, 4));
    add("bigbird", 64, block_map_keys(bigbird_blocks(n / 256, 256, 3, 2, 3, 0)));
    add("na2d_w33", 64, neighbourhood_keys({{side, 33, 1}, {across, 33, 1}}));
    add("gna3d_w8x16x16", 128, neighbourhood_keys({{frames, 8, 1}, {2 * frames, 16, 1}, {2 * frames, 16, 1}}));
  }
  return all;
}

std::vector<Workload> joined(std::vector<Workload> a, std::vector<Workload> b) {
  a.insert(a.end(), std::make_move_iterator(b.begin()), std::make_move_iterator(b.end()));
  return a;
}

}  // namespace

const std::vector<std::string>& suite_names() {
  static const std::vector<std::string> names = {"standard", "quick", "all", "lengths"};
  return names;
}

std::vector<Workload> suite(const std::string& name) {
  const std::vector<std::string> quick = {"dense_n16k_d64",       "dense_n16k_d128",    "dense_n16k_d256",
                                          "causal_n16k_d64",      "causal_n16k_d128",   "causal_n16k_d256",
                                          "causal_gqa_n16k_d128", "window1k_n32k_d128", "blocks25_n16k_d128"};
  std::vector<Workload> standard = joined(dense_and_causal(), sparse());
  if (name == "standard") return standard;
  if (name == "quick") {
    std::erase_if(standard, [&](const Workload& workload) {
      return std::find(quick.begin(), quick.end(), workload.name) == quick.end();
    });
    return standard;
  }
  if (name == "all") return joined(joined(std::move(standard), strided_views()), in_space());
  if (name == "lengths") return lengths();
  throw UserError({}, fmt::format("there is no suite '{}'", name),
                  fmt::format("there are: {}", fmt::join(suite_names(), ", ")));
}

}  // namespace tessera::bench
