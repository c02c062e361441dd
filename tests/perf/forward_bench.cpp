// Times forward attention on the GPU: one row of JSON a workload, medians of single launches in milliseconds, beside
// what compiling and launching cost the host. tests/perf/compare.py runs it beside a peer.
//
//   forward_bench [--repeat 30] [--only SUBSTRING]
//   forward_bench --list 1          the workloads, for peers
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

#include <nlohmann/json.hpp>

#include <tessera/library/attention.h>
#include <tessera/runtime/memory.h>
#include <tessera/runtime/stream.h>

using namespace tessera;

namespace {

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Workload {
  const char* name;
  std::int64_t batch, heads, kv_heads, tokens;
  int depth;
  Mask mask;
  double density;  // live pairs of all pairs
};

std::vector<Workload> workloads() {
  const auto window_density = [](double w, double n) { return (w * n - w * (w - 1) / 2) / n / n; };
  return {
      {"dense_n4k_d128", 4, 16, 16, 4096, 128, full, 1},
      {"dense_n16k_d128", 1, 16, 16, 16384, 128, full, 1},
      {"dense_n16k_d64", 1, 32, 32, 16384, 64, full, 1},
      {"dense_n8k_d256", 1, 8, 8, 8192, 256, full, 1},
      {"causal_n4k_d128", 4, 16, 16, 4096, 128, causal, 0.5},
      {"causal_n16k_d128", 1, 16, 16, 16384, 128, causal, 0.5},
      {"causal_n16k_d64", 1, 32, 32, 16384, 64, causal, 0.5},
      {"causal_gqa_n16k_d128", 1, 32, 8, 16384, 128, causal, 0.5},
      {"window1k_n32k_d128", 1, 16, 16, 32768, 128, window(1023, 0), window_density(1024, 32768)},
      {"window4k_n32k_d128", 1, 16, 16, 32768, 128, window(4095, 0), window_density(4096, 32768)},
      {"blockdiag1k_n16k_d128", 1, 16, 16, 16384, 128, block_diagonal(1024), 1.0 / 16},
      {"sink_window1k_n32k_d128", 1, 16, 16, 32768, 128, sink_window(64, 1023), window_density(1088, 32768)},
  };
}

double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

class Tensors {
 public:
  Tensors(const runtime::Device& device, const Workload& w)
      : q_(device, w.batch * w.heads * w.tokens * w.depth * 2),
        k_(device, w.batch * w.kv_heads * w.tokens * w.depth * 2),
        v_(device, k_.bytes()),
        o_(device, q_.bytes()),
        lse_(device, w.batch * w.heads * w.tokens * 4) {
    fill(q_, 1);
    fill(k_, 2);
    fill(v_, 3);
    const auto view = [&](runtime::DeviceBuffer& b, std::int64_t heads) {
      return View::contiguous(b.data(), DType::bf16, {w.batch, heads, w.tokens, w.depth}, Memory::device);
    };
    call = {.q = view(q_, w.heads), .k = view(k_, w.kv_heads), .v = view(v_, w.kv_heads), .o = view(o_, w.heads)};
    call.lse = View::contiguous(lse_.data(), DType::f32, {w.batch, w.heads, w.tokens}, Memory::device);
  }
  AttentionCall call;

 private:
  // Normal numbers: a matrix product is faster on zeros than on data.
  static void fill(runtime::DeviceBuffer& buffer, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<std::uint16_t> block(1 << 16);
    for (std::uint16_t& x : block) {
      const float value = normal(random);
      std::uint32_t bits;
      std::memcpy(&bits, &value, 4);
      x = static_cast<std::uint16_t>(bits >> 16);
    }
    for (std::int64_t at = 0; at < buffer.bytes(); at += static_cast<std::int64_t>(block.size()) * 2)
      runtime::copy_to_device(buffer.device(), buffer.address() + static_cast<std::uint64_t>(at), block.data(),
                              std::min<std::int64_t>(static_cast<std::int64_t>(block.size()) * 2, buffer.bytes() - at));
  }
  runtime::DeviceBuffer q_, k_, v_, o_, lse_;
};

nlohmann::json described(const Workload& w) {
  return {{"workload", w.name},   {"batch", w.batch},
          {"heads", w.heads},     {"kv_heads", w.kv_heads},
          {"tokens", w.tokens},   {"head_dim", w.depth},
          {"density", w.density}, {"mask", w.density == 1 ? "full" : w.density == 0.5 ? "causal" : "sparse"}};
}

nlohmann::json measure(const runtime::Device& device, const Workload& w, int repeat) {
  Tensors tensors(device, w);
  const runtime::Stream stream(device);
  tensors.call.stream = stream.get();
  const Clock::time_point start = Clock::now();
  Attention attend({.mask = w.mask, .dtype = bf16, .head_dim = w.depth});
  attend(tensors.call);
  const double first_call_ms = ms_since(start);
  stream.synchronize();

  runtime::Event begin(device), end(device);
  std::vector<double> ms, host_us;
  for (int i = 0; i < repeat + 5; ++i) {
    begin.record(stream.get());
    const Clock::time_point before = Clock::now();
    attend(tensors.call);
    const double us = 1000 * ms_since(before);
    end.record(stream.get());
    end.synchronize();
    if (i < 5) continue;
    ms.push_back(end.milliseconds_since(begin));
    host_us.push_back(us);
  }
  const double useful =
      4.0 * static_cast<double>(w.batch * w.heads) * std::pow(static_cast<double>(w.tokens), 2) * w.depth * w.density;
  const double t = median(ms);
  nlohmann::json row = described(w);
  row["tessera_ms"] = t;
  row["tflops"] = useful / t / 1e9;
  row["best_ms"] = *std::min_element(ms.begin(), ms.end());
  row["host_us"] = median(host_us);
  row["first_call_ms"] = first_call_ms;
  const nlohmann::json explained = nlohmann::json::parse(attend.explain_json());
  for (const char* key : {"compile_ms", "registers", "spill_bytes", "tiles"})
    if (explained.contains(key)) row[key] = explained[key];
  return row;
}

}  // namespace

int main(int argc, char** argv) {
  int repeat = 30;
  std::string only;
  bool list = false;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--repeat") == 0) repeat = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--only") == 0) only = argv[i + 1];
    if (std::strcmp(argv[i], "--list") == 0) list = true;
  }
  if (list) {
    for (const Workload& w : workloads()) std::printf("%s\n", described(w).dump().c_str());
    return 0;
  }
  if (!runtime::driver_missing().empty()) return std::printf("skipped: %s\n", runtime::driver_missing().c_str()), 77;
  const runtime::Device device = runtime::Device::open(0);
  for (const Workload& w : workloads())
    if (only.empty() || std::string(w.name).find(only) != std::string::npos)
      std::printf("%s\n", measure(device, w, repeat).dump().c_str()), std::fflush(stdout);
  return 0;
}
