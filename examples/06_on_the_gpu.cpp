// Lesson 6. Attention on the GPU, over memory and on a stream of your own. Nothing but where the views point differs
// from the CPU: without a GPU this lesson runs there, and says why.
#include <cstdio>

#include <tessera/attention.h>

#include "gpu_memory.h"
#include "support.h"

using namespace tessera;

namespace {

constexpr int kTokens = 1000, kDim = 64;

}  // namespace

int main() {
  auto q = example::Tensor::random(4, kTokens, kDim, 1);
  auto k = example::Tensor::random(2, kTokens, kDim, 2), v = example::Tensor::random(2, kTokens, kDim, 3);
  auto o = example::Tensor(4, kTokens, kDim);
  Attention attend({.mask = window(255, 0), .dtype = bf16, .head_dim = kDim});

  example::Gpu gpu;
  if (gpu.missing().empty()) {
    void *q_data = gpu.upload(q.bits), *k_data = gpu.upload(k.bits), *v_data = gpu.upload(v.bits);
    void* o_data = gpu.upload(o.bits);

    // The GPU's memory, from whatever allocates yours: cudaMalloc, or a PyTorch tensor's data_ptr(). A View says what
    // shape it has, and where it is.
    const auto tensor = [](void* data, int heads) {
      return View::contiguous(data, bf16, {1, heads, kTokens, kDim}, Memory::device);
    };
    // Optional: compiles and loads for these shapes now, where otherwise the first call does.
    attend.prepare({.heads = 4, .kv_heads = 2, .query_length = kTokens, .key_length = kTokens});

    // Enqueued on a cudaStream_t or CUstream of yours; the host does not wait, and a CUDA graph may capture it.
    attend({.q = tensor(q_data, 4),
            .k = tensor(k_data, 2),
            .v = tensor(v_data, 2),
            .o = tensor(o_data, 4),
            .stream = gpu.stream()});

    gpu.wait();
    gpu.download(o.bits, o_data);
  } else {
    attend({.q = q.view(), .k = k.view(), .v = v.view(), .o = o.view()});
  }
  std::puts(attend.explain().c_str());

  const double error = example::largest_error(q, k, v, o, [](auto i, auto j) { return j <= i && i - j <= 255; }, 7);
  std::printf("largest error against fp64: %.2e\n", error);
  example::check(error < 0.01, "attention over the window, to the precision of bf16");
  if (!gpu.missing().empty()) std::printf("this ran on the CPU: %s\n", gpu.missing().c_str());
}
