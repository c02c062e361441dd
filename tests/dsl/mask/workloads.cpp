#include "workloads.h"

#include "fuzz/random_masks.h"

namespace tessera::testing {

namespace {

constexpr std::int64_t k16 = 16384;

class Workloads {
 public:
  std::vector<Workload> all() {
    measured();
    grids();
    bands();
    blocks();
    return std::move(list_);
  }

 private:
  template <class F>
  void put(const char* name, std::int64_t length, int dim, std::int64_t heads, const F& f) {
    list_.push_back({name, predicate("mask", f), length, length, dim, heads});
  }
  void put(const char* name, std::int64_t length, int dim, std::int64_t heads, const std::vector<Neighbourhood>& axes) {
    list_.push_back({name, neighbourhood_grid(axes), length, length, dim, heads});
  }

  void measured();
  void grids();
  void bands();
  void blocks();

  std::vector<Workload> list_;
};

void Workloads::measured() {
  put("dense 16k", k16, 128, 16, [](Args& a) { return a.q * 0.0 == 0.0; });
  put("causal 16k", k16, 128, 16, [](Args& a) { return a.k <= a.q; });
  put("causal 16k d64", k16, 64, 32, [](Args& a) { return a.k <= a.q; });
  put("window 256", k16, 128, 16, [](Args& a) { return (a.k >= a.q - 256.0) & (a.k <= a.q); });
  put("window 1k", 32768, 128, 16, [](Args& a) { return (a.k >= a.q - 1024.0) & (a.k <= a.q); });
  put("window +-512 d64", k16, 64, 32, [](Args& a) { return abs(a.q - a.k) <= 512.0; });
  put("longformer", k16, 64, 32, [](Args& a) { return (abs(a.q - a.k) <= 256.0) | (a.q < 64.0) | (a.k < 64.0); });
  put("strided 128", 8192, 64, 32,
      [](Args& a) { return (a.k <= a.q) & ((a.q - a.k < 128.0) | ((a.q - a.k) % 128.0 == 0.0)); });
  put("block diagonal 1k", k16, 128, 16, [](Args& a) { return a.q / 1024.0 == a.k / 1024.0; });
  put("dilated 4", 8192, 64, 32, [](Args& a) { return (abs(a.q - a.k) <= 256.0) & ((a.q - a.k) % 4.0 == 0.0); });
  put("prefix 2k", k16, 128, 16, [](Args& a) { return (a.k <= a.q) | (a.k < 2048.0); });
  put("sinks 64 window 1k", 32768, 128, 16,
      [](Args& a) { return (a.k <= a.q) & ((a.q - a.k <= 1024.0) | (a.k < 64.0)); });
  put("splat strided 64", 4096, 64, 48,
      [](Args& a) { return (a.k <= a.q) & ((a.q - a.k < 64.0) | ((a.q - a.k) % 64.0 == 0.0)); });
  const std::int64_t blocks = 256;
  Random random(1);
  std::vector<std::int32_t> bits(static_cast<std::size_t>(blocks * blocks), 0);
  for (std::int64_t i = 0; i < blocks; ++i)
    for (int n = 0; n < 3; ++n) bits[static_cast<std::size_t>(i * blocks + random.below(blocks))] = 1;
  const Table table = mask::TableData::make(bits, {blocks, blocks});
  put("bigbird 64", k16, 64, 32, [&](Args& a) {
    const Expr i = a.q / 64.0, j = a.k / 64.0;
    return (abs(i - j) <= 1.0) | (i < 2.0) | (j < 2.0) | (a.read("bits", table, {i, j}) >= 1.0);
  });
  const Table doc = document_table(k16, 12, 82);
  put("documents causal", k16, 128, 16,
      [&](Args& a) { return (a.read("doc", doc, {a.q}) == a.read("doc", doc, {a.k})) & (a.k <= a.q); });
}

void Workloads::grids() {
  put("neighbourhood 33x33", k16, 64, 16, {{128, 33}, {128, 33}});
  put("flux stride 16", 65536, 128, 24, {{256, 80, 16}, {256, 80, 16}});
  put("flux stride 1", 65536, 128, 24, {{256, 80}, {256, 80}});
  put("cosmos", 56320, 128, 32, {{16, 16}, {44, 32}, {80, 48}});
  put("hunyuan stride 16 8 8", 115200, 128, 24, {{30, 18, 16}, {48, 24, 8}, {80, 24, 8}});
  put("hunyuan stride 2 8 8", 115200, 128, 24, {{30, 18, 2}, {48, 24, 8}, {80, 24, 8}});
  put("hunyuan stride 1", 115200, 128, 24, {{30, 18}, {48, 24}, {80, 24}});
  put("neighbourhood 33x33 causal", k16, 64, 16, {{128, 33, 1, 1, true}, {128, 33}});
  put("neighbourhood 13x13 dilation 4", k16, 64, 16, {{128, 13, 1, 4}, {128, 13, 1, 4}});
  const auto plane = [&](const char* name, std::int64_t length, double x, const auto& f) {
    put(name, length, 64, 32, [&](Args& a) { return f(a.q / x, a.q % x, a.k / x, a.k % x); });
  };
  plane("swin 7", 12544, 112,
        [](Expr qy, Expr qx, Expr ky, Expr kx) { return (qy / 7.0 == ky / 7.0) & (qx / 7.0 == kx / 7.0); });
  plane("swin 7 shifted", 12544, 112, [](Expr qy, Expr qx, Expr ky, Expr kx) {
    return ((qy + 4.0) / 7.0 == (ky + 4.0) / 7.0) & ((qx + 4.0) / 7.0 == (kx + 4.0) / 7.0);
  });
  plane("halonet 8 3", 12544, 112, [](Expr qy, Expr qx, Expr ky, Expr kx) {
    const Expr y = qy / 8.0 * 8.0, x = qx / 8.0 * 8.0;
    return (y - 3.0 <= ky) & (ky < y + 11.0) & (x - 3.0 <= kx) & (kx < x + 11.0);
  });
  plane("axial", k16, 128, [](Expr qy, Expr qx, Expr ky, Expr kx) { return (qy == ky) | (qx == kx); });
  plane("axial column", k16, 128, [](Expr, Expr qx, Expr, Expr kx) { return qx == kx; });
}

void Workloads::bands() {
  put("dilated 3", k16, 128, 16, [](Args& a) { return (abs(a.q - a.k) <= 768.0) & ((a.q - a.k) % 3.0 == 0.0); });
  put("strided 64", k16, 64, 32, [](Args& a) { return (a.q - a.k) % 64.0 == 0.0; });
  put("strided 128 causal", k16, 64, 32, [](Args& a) { return (a.k <= a.q) & ((a.q - a.k) % 128.0 == 0.0); });
  put("fixed 128 8", k16, 64, 32,
      [](Args& a) { return (a.k <= a.q) & ((a.q / 128.0 == a.k / 128.0) | (a.k % 128.0 >= 120.0)); });
  put("fixed 128 32", k16, 64, 32,
      [](Args& a) { return (a.k <= a.q) & ((a.q / 128.0 == a.k / 128.0) | (a.k % 128.0 >= 96.0)); });
  put("temporal w 480", 115200, 128, 24, [](Args& a) { return abs(a.q % 3840.0 - a.k % 3840.0) < 480.0; });
  put("spatial +-2 frames", 115200, 128, 24, [](Args& a) { return (abs(a.q - a.k) < 7680.0) | (a.k < 3840.0); });
  put("star", k16, 64, 32, [](Args& a) { return (abs(a.q - a.k) <= 1.0) | (a.q == 0.0) | (a.k == 0.0); });
}

void Workloads::blocks() {
  put("own and previous block", k16, 128, 16,
      [](Args& a) { return ((a.q / 512.0 - 1.0) * 512.0 <= a.k) & (a.k < (a.q / 512.0 + 1.0) * 512.0); });
  put("chunked causal 1000", k16, 128, 16, [](Args& a) { return (a.q / 1000.0 == a.k / 1000.0) & (a.k <= a.q); });
  put("block causal 32", k16, 128, 16, [](Args& a) { return a.k / 32.0 <= a.q / 32.0; });
  put("s2", k16, 128, 16, [](Args& a) {
    const Expr i = a.q / 64.0, j = a.k / 64.0;
    return (a.k <= a.q) & ((i - j < 16.0) | ((j + 3.0) % 8.0 == 0.0));
  });
  put("strided in blocks", k16, 128, 16,
      [](Args& a) { return (a.q / 256.0 == a.k / 256.0) & (a.q % 4.0 == 1.0) & (a.k % 4.0 == 1.0); });
  put("longnet 4096 4", k16, 128, 16, [](Args& a) {
    return (a.q / 4096.0 == a.k / 4096.0) & ((a.q % 4096.0) % 4.0 == 1.0) & ((a.k % 4096.0) % 4.0 == 1.0) &
           (a.k <= a.q);
  });
  put("temporal split", 56320, 128, 32, [](Args& a) { return a.q % 3520.0 == a.k % 3520.0; });
  put("spatial split", 56320, 128, 32, [](Args& a) { return a.q / 3520.0 == a.k / 3520.0; });
}

}  // namespace

std::vector<Workload> workloads() { return Workloads().all(); }

mask::TargetCosts h200_costs(int dim) {
  mask::TargetCosts costs;
  costs.depth = costs.value = dim;
  costs.processors = 132, costs.launch_seconds = 3e-6, costs.bytes_per_second = 4.3e12;
  if (dim >= 128) {
    costs.rates = {{128, 745e12}, {64, 0.8 * 745e12}};
    costs.step_start = 141.0 / 1257, costs.mask = 127.0 / 1257, costs.row_start = 1.4;
  } else {
    costs.rates = {{192, 585e12}, {128, 0.95 * 585e12}, {64, 0.75 * 585e12}};
    costs.step_start = 141.0 / 820, costs.mask = 127.0 / 820, costs.row_start = 1.0;
  }
  return costs;
}

}  // namespace tessera::testing
